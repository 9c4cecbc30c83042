/** Reads `config.json` of an output: Build Output API, version 3. */
import { mapInSlices } from '../../platform/base/event-loop.ts'
import { scheduleError } from '../crons/schedule.ts'
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'
import type { Images, Phase, Route, RoutingManifest } from '../protocol/routing-manifest.ts'
import {
  choiceOf,
  defined,
  entriesOf,
  type Field,
  flagOf,
  integerOf,
  isObject,
  itemsOf,
  member,
  refuseField,
  required,
  textOf,
  textsOf,
} from './fields.ts'
import type { NoticeList } from './notices.ts'
import { valuePatternOf } from './patterns.ts'
import { phasesOf } from './route-rules.ts'

export type Override = { path?: string; contentType?: string; field: Field }

export type OutputConfig = Pick<RoutingManifest, 'wildcards' | 'crons'> & {
  phases: Record<Phase, Route[]>
  overrides: Map<string, Override>
  images?: Images
  framework?: { slug: string; version: string }
}

const CONTENT_TYPE = { max: 256, form: [/^[\x20-\x7e]+$/, 'is not a content type.'] } as const
const POLICY = {
  min: 1,
  max: 256,
  form: [/^[\x20-\x7e]+$/, 'must be visible ASCII characters and spaces.'],
} as const
const NAME = { min: 1, max: 256 }

/** Reads the file. Ignores unknown fields, since builders add some. Returns undefined for another version. */
export async function readConfig(config: Field, notices: NoticeList): Promise<OutputConfig | undefined> {
  if (!isObject(config)) return undefined
  const version = member(config, 'version')
  if (version.value !== 3) return refuseField(version, 'must be 3. Build with a current version of the builder.')
  const images = imagesOf(member(config, 'images'))
  if (images !== undefined) notices.add('images_not_optimized', 'images')
  const framework = frameworkOf(member(config, 'framework'))
  return {
    phases: await phasesOf(member(config, 'routes'), notices),
    wildcards: wildcardsOf(member(config, 'wildcard')),
    overrides: await overridesOf(member(config, 'overrides')),
    crons: await cronsOf(member(config, 'crons'), notices),
    ...(images && { images }),
    ...(framework && { framework }),
  }
}

function wildcardsOf(field: Field): RoutingManifest['wildcards'] {
  return (itemsOf(field, OUTPUT_LIMITS.wildcards) ?? []).flatMap((item) => {
    if (!isObject(item)) return []
    const domain = required(member(item, 'domain'), (value) => textOf(value, NAME))
    const value = required(member(item, 'value'), (text) => textOf(text, { max: 1024 }))
    return domain === undefined || value === undefined ? [] : [{ domain: domain.toLowerCase(), value }]
  })
}

async function overridesOf(field: Field): Promise<Map<string, Override>> {
  const overrides = new Map<string, Override>()
  await mapInSlices(entriesOf(field, OUTPUT_LIMITS.files) ?? [], ([file, entry]) => {
    if (!isObject(entry)) return
    const path = textOf(member(entry, 'path'), { max: OUTPUT_LIMITS.path })
    const contentType = textOf(member(entry, 'contentType'), CONTENT_TYPE)
    overrides.set(file, {
      field: entry,
      ...(path !== undefined && { path }),
      ...(contentType !== undefined && { contentType }),
    })
  })
  return overrides
}

/** A schedule whose date never comes takes milliseconds to be found out. */
async function cronsOf(field: Field, notices: NoticeList): Promise<RoutingManifest['crons']> {
  const crons = await mapInSlices(itemsOf(field, OUTPUT_LIMITS.crons) ?? [], (item) => {
    if (!isObject(item)) return []
    const path = required(member(item, 'path'), (value) =>
      textOf(value, { max: 512, form: [/^\//, 'must begin with "/".'] }),
    )
    const schedule = required(member(item, 'schedule'), (value) => textOf(value, { max: 256 }))
    if (path === undefined || schedule === undefined) return []
    const fault = scheduleError(schedule)
    if (fault !== undefined) refuseField(member(item, 'schedule'), fault)
    notices.add('crons_not_run', path)
    return [{ path, schedule }]
  })
  return crons.flat()
}

/** Ignored without a slug. */
function frameworkOf(field: Field): OutputConfig['framework'] {
  if (!isObject(field) || typeof member(field, 'slug').value !== 'string') return undefined
  const slug = textOf(member(field, 'slug'), { max: 50 })
  const version = textOf(member(field, 'version'), { max: 50 })
  return slug === undefined || version === undefined ? undefined : { slug, version }
}

function imagesOf(field: Field): Images | undefined {
  if (!isObject(field)) return undefined
  const integers = (key: string, max: number, largest: number) =>
    itemsOf(member(field, key), max)?.flatMap((item) => required(item, (value) => integerOf(value, 1, largest)) ?? [])
  const images = {
    sizes: required(member(field, 'sizes'), () => integers('sizes', 50, 100_000)),
    domains: textsOf(member(field, 'domains'), 50, NAME) ?? [],
    qualities: integers('qualities', 100, 100),
    formats: itemsOf(member(field, 'formats'), 4)?.flatMap((item) => choiceOf(item, FORMATS) ?? []),
    minimumCacheTTL: integerOf(member(field, 'minimumCacheTTL'), 0, 315_360_000),
    localPatterns: itemsOf(member(field, 'localPatterns'), 25)?.flatMap((item) => localPatternOf(item) ?? []),
    remotePatterns: itemsOf(member(field, 'remotePatterns'), 50)?.flatMap((item) => remotePatternOf(item) ?? []),
    dangerouslyAllowSVG: flagOf(member(field, 'dangerouslyAllowSVG')),
    contentSecurityPolicy: textOf(member(field, 'contentSecurityPolicy'), POLICY),
    contentDispositionType: choiceOf(member(field, 'contentDispositionType'), ['inline', 'attachment']),
  }
  return images.sizes === undefined ? undefined : (defined(images) as Images)
}

const FORMATS = ['image/avif', 'image/webp', 'image/jpeg', 'image/png'] as const

function localPatternOf(field: Field) {
  if (!isObject(field)) return undefined
  return defined({
    pathname: valuePatternOf(member(field, 'pathname')),
    search: textOf(member(field, 'search'), { max: 256 }),
  })
}

function remotePatternOf(field: Field) {
  if (!isObject(field)) return undefined
  const hostname = required(member(field, 'hostname'), valuePatternOf)
  if (hostname === undefined) return undefined
  return {
    hostname,
    ...defined({
      protocol: choiceOf(member(field, 'protocol'), ['http', 'https']),
      port: textOf(member(field, 'port'), { max: 5 }),
      pathname: valuePatternOf(member(field, 'pathname')),
      search: textOf(member(field, 'search'), { max: 256 }),
    }),
  }
}
