/** Prerendered pages that are revalidated later: `<path>.prerender-config.json` next to a function. */
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'
import type { Prerender } from '../protocol/routing-manifest.ts'
import { conditionsOf } from './conditions.ts'
import { contentTypeOf } from './content-types.ts'
import {
  defined,
  type Field,
  flagOf,
  integerOf,
  isObject,
  member,
  refuseField,
  required,
  textOf,
  textsOf,
} from './fields.ts'
import type { NoticeList } from './notices.ts'
import { linkTarget } from './paths.ts'
import { headersOf } from './route-rules.ts'
import { fileAt, type Tree } from './tree.ts'

const MAX_SECONDS = 2 ** 31 - 1
const NAMES = { min: 1, max: 256 }

/** Reads a prerender config. `directory` is that of the functions and contains the fallback. */
export function prerenderOf(config: Field, tree: Tree, directory: string, notices: NoticeList): Prerender | undefined {
  if (!isObject(config)) return undefined
  const expiration = required(member(config, 'expiration'), expirationOf)
  if (expiration === undefined) return undefined
  return {
    expiration,
    initialHeaders: headersOf(member(config, 'initialHeaders'), notices) ?? [],
    passQuery: flagOf(member(config, 'passQuery')),
    concrete: member(config, 'type').value === 'Prerender',
    exposeErrBody: flagOf(member(config, 'exposeErrBody')),
    partialFallback: flagOf(member(config, 'partialFallback')),
    ...defined({
      staleExpiration: integerOf(member(config, 'staleExpiration'), 0, MAX_SECONDS),
      group: integerOf(member(config, 'group'), 1, MAX_SECONDS),
      // The token triggers revalidation, so it must be unguessable: 128 bits.
      bypassToken: textOf(member(config, 'bypassToken'), {
        max: 256,
        form: [/.{32}/s, 'must have 32 characters or more.'],
      }),
      fallback: fallbackOf(config, tree, directory),
      allowQuery: textsOf(member(config, 'allowQuery'), 1000, NAMES),
      allowHeader: textsOf(member(config, 'allowHeader'), 100, NAMES)?.map((name) => name.toLowerCase()),
      initialStatus: integerOf(member(config, 'initialStatus'), 200, 599),
      bypassFor: conditionsOf(member(config, 'experimentalBypassFor')),
      chain: chainOf(member(config, 'chain'), notices),
    }),
  }
}

function expirationOf(field: Field): number | false | undefined {
  return field.value === false ? false : integerOf(field, 0, MAX_SECONDS, 'false or ')
}

function fallbackOf(config: Field, tree: Tree, directory: string): Prerender['fallback'] {
  const field = member(config, 'fallback')
  if (field.value === undefined) return undefined
  const isText = typeof field.value === 'string'
  if (!isText && !isObject(field, 'a string or an object')) return undefined
  const path = required(isText ? field : member(field, 'fsPath'), (value) =>
    textOf(value, { min: 1, max: OUTPUT_LIMITS.path }),
  )
  if (path === undefined) return undefined
  const target = linkTarget(config.file, path)
  const file = target?.startsWith(directory) ? fileAt(tree, target) : undefined
  if (file === undefined) return refuseField(field, `names ${path}, which is not a file of the output.`)
  const type = isText
    ? undefined
    : textOf(member(field, 'contentType'), { max: 256, form: [/^[\x20-\x7e]+$/, 'is not a content type.'] })
  return { digest: file.digest, size: file.size, contentType: type ?? contentTypeOf(path) }
}

function chainOf(field: Field, notices: NoticeList): Prerender['chain'] {
  if (!isObject(field)) return undefined
  const outputPath = required(member(field, 'outputPath'), (value) =>
    textOf(value, { min: 1, max: OUTPUT_LIMITS.path }),
  )
  return outputPath === undefined
    ? undefined
    : { outputPath, headers: headersOf(member(field, 'headers'), notices) ?? [] }
}
