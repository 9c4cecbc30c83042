/** What the newest SDK that is installed says it sends: the query parameters and body fields of each operation, out of its own schemas. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Route, unversionedPath } from '../../src/platform/http/route.ts'
import { ROUTES } from '../../src/routes.ts'
import { root } from '../support/root.ts'

const packages = join(root, 'node_modules')
const version = readdirSync(packages)
  .flatMap((name) => /^sdk-([\d.]+)$/.exec(name)?.[1] ?? [])
  .sort((one, other) => one.localeCompare(other, 'en', { numeric: true }))
  .at(-1)!
/** Where its modules lie. */
export const folder = join(packages, `sdk-${version}`, 'esm')

/** Fields by their path (`resourceConfig.fluid`), each with the values that it may have where these are few. */
export type Fields = Map<string, Set<string>>
export type Operation = { route: Route; func: string; code: string; query: Fields; body: Fields }

/** Another test of this process may have loaded the SDK: what is read here is loaded again, under addresses of its own. */
const ANEW = '?fields'
const address = pathToFileURL(folder).href

// The SDK hides what a union is made of in a closure: here it is the union of its validator instead, which can be read.
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    if (!context.parentURL?.endsWith(ANEW) || !found.url.startsWith(address)) return found
    return { ...found, url: `${found.url}${ANEW}` }
  },
  load(url, context, next) {
    if (!url.startsWith(address) || !url.endsWith(`/types/smartUnion.js${ANEW}`)) return next(url, context)
    const source = `import * as z from 'zod/v3'; export const smartUnion = (options) => z.union(options)`
    return { format: 'module', shortCircuit: true, source }
  },
})

/** Every operation that both have. */
export async function readNewestSdk(): Promise<Operation[]> {
  const operations: Operation[] = []
  for (const name of readdirSync(join(folder, 'funcs')).filter((file) => file.endsWith('.js'))) {
    const code = readFileSync(join(folder, 'funcs', name), 'utf8')
    const path = /pathToFunc\("([^"]+)"\)/.exec(code)?.[1]
    const method = /method: "([A-Z]+)"/.exec(code)?.[1]
    for (const route of path === undefined ? [] : (SERVED.get(placeOf(method!, path)) ?? [])) {
      operations.push({ route, func: name, code, ...(await readFields(code)) })
    }
  }
  return operations
}

/** Names of parts of a path are the reader's: `{teamId}` and `:idOrSlug` are one place. */
function placeOf(method: string, path: string): string {
  return `${method} ${unversionedPath(path).replaceAll(/\{\w+\}|:\w+/g, '*')}`
}

const SERVED = Map.groupBy(
  ROUTES.filter(({ auth }) => auth !== 'operator'),
  (route) => placeOf(route.method, route.path),
)

/** Gives the validator of what a method is called with, out of the code of the method; undefined where it takes nothing. */
export async function readSchema(code: string): Promise<Schema | undefined> {
  const schema = /(\w+\$outboundSchema)\.(?:optional\(\)\.)?parse/.exec(code)?.[1]
  if (schema === undefined) return undefined
  const file = new RegExp(`\\b${schema.replace('$', '\\$')}[^;]*?from "\\.\\./(models/[^"]+)"`).exec(code)?.[1]
  const module = await import(`${pathToFileURL(join(folder, file!)).href}${ANEW}`)
  return module[schema]
}

/** Gives where a method puts its body in what it sends: undefined where the whole of it is the body, null where it sends none. */
export function bodyKeyOf(code: string): string | undefined | null {
  const sent = /const body = encode\w+\("[^"]*", payload(?:\.(\w+)|\["([^"]+)"\])?/.exec(code)
  if (sent !== null) return sent[1] ?? sent[2]
  // A file has no fields.
  if (/const body = payload\.RequestBody instanceof Uint8Array/.test(code)) return null
  assert.match(code, /const body = null/, 'a body that is said in another way: read it here')
  return null
}

async function readFields(code: string): Promise<Pick<Operation, 'query' | 'body'>> {
  const schema = await readSchema(code)
  if (schema === undefined) return { query: new Map(), body: new Map() }
  const request: Fields = new Map()
  gather(schema, '', request)
  const asked = /encodeFormQuery\(\{([^}]*)\}/.exec(code)?.[1] ?? ''
  const names = [...asked.matchAll(/"([^"]+)":/g)].map(([, name]) => name!)
  const query = new Map(names.map((name) => [name, request.get(name) ?? new Set<string>()]))
  const key = bodyKeyOf(code)
  if (key === null) return { query, body: new Map() }
  const all = [...request].map(
    ([path, values]) => [key === undefined ? path : path.slice(key.length + 1), values, path] as const,
  )
  return {
    query,
    body: new Map(
      all
        .filter(([, , path]) => key === undefined || path.startsWith(`${key}.`))
        .map(([path, values]) => [path, values]),
    ),
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the SDK's validator, read by what it calls its parts
export type Schema = any

/** Walks a schema, and gives the names of fields below `at`. What it does not know is an error: a new version may say it otherwise. */
function gather(schema: Schema, at: string, found: Fields): void {
  const { typeName, ...parts } = schema._def
  const note = (value: unknown) => {
    if (at === '') return
    found.set(at, found.get(at) ?? new Set())
    if (value !== undefined) found.get(at)!.add(String(value))
  }
  note(undefined)
  if (typeName === 'ZodObject') {
    for (const [name, inner] of Object.entries(schema.shape)) gather(inner, at === '' ? name : `${at}.${name}`, found)
  } else if (typeName === 'ZodEffects') gatherRenamed(parts, at, found)
  else if (/^Zod(Optional|Nullable|Default|Branded)$/.test(typeName)) gather(parts.innerType ?? parts.type, at, found)
  else if (typeName === 'ZodLazy') gather(parts.getter(), at, found)
  else if (typeName === 'ZodArray') gather(parts.type, at, found)
  else if (typeName === 'ZodRecord') gather(parts.valueType, `${at}.*`, found)
  else if (/^Zod(Discriminated)?Union$/.test(typeName)) for (const option of schema.options) gather(option, at, found)
  else if (typeName === 'ZodIntersection') for (const side of [parts.left, parts.right]) gather(side, at, found)
  else if (typeName === 'ZodNativeEnum') for (const value of Object.values(parts.values)) note(value)
  else if (typeName === 'ZodEnum') for (const value of parts.values) note(value)
  else if (typeName === 'ZodLiteral') note(parts.value)
  else assert.match(typeName, /^Zod(String|Number|Boolean|Any|Null|Unknown|Date)$/, at)
}

/** A field that has another name in the SDK's types than on the wire: the function that renames it says so in its text. */
function gatherRenamed({ schema, effect }: Schema, at: string, found: Fields): void {
  const names = renamesOf(effect)
  const inner: Fields = new Map()
  gather(schema, '', inner)
  for (const [path, values] of inner) {
    const [first, ...rest] = path.split('.')
    const below = [names.get(first!) ?? first!, ...rest].join('.')
    found.set(at === '' ? below : `${at}.${below}`, values)
  }
}

/** The fields that a function renames: the name in the SDK's types -> the name on the wire. */
export function renamesOf(effect: Schema): Map<string, string> {
  return new Map([...String(effect.transform).matchAll(/(\w+): "([^"]+)"/g)].map(([, from, to]) => [from!, to!]))
}
