/** The calls of src/platform/openapi/sdk-calls.json: how the newest SDK says the example of an operation, in the names of its types. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import type { Route } from '../../src/platform/http/route.ts'
import type { Example } from '../../src/platform/openapi/examples.ts'
import type { SdkCall } from '../../src/platform/openapi/sdk-calls.ts'
import { bodyKeyOf, folder, type Operation, readSchema, renamesOf, type Schema } from './newest-sdk.ts'

// biome-ignore lint/suspicious/noExplicitAny: what is sent is walked as JSON
type Json = any

/** Gives the class of the client, as its users import it. */
export async function loadVercel(): Promise<Json> {
  return (await import(pathToFileURL(join(folder, 'index.js')).href)).Vercel
}

/** Gives the methods of the SDK by the file of their code: `projectsCreateProject.js` -> `projects.createProject`. */
export async function readMethods(): Promise<Map<string, string>> {
  const client = new (await loadVercel())()
  const methods = new Map<string, string>()
  for (const group of namesOf(client)) {
    if (typeof client[group] !== 'object' || client[group] === null) continue
    for (const name of namesOf(client[group])) {
      const called = /unwrapAsync\((\w+)\(/.exec(String(client[group][name]))?.[1]
      if (called !== undefined) methods.set(`${called}.js`, `${group}.${name}`)
    }
  }
  assert.ok(methods.size > 200, `${methods.size} methods: is the SDK read right?`)
  return methods
}

function namesOf(thing: object): string[] {
  return Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(thing)))
    .filter(([name]) => name !== 'constructor' && !name.startsWith('_'))
    .map(([name]) => name)
}

/** TABLE what the SDK demands and Berth does not, by operationId: it is in the call, and not in the command. */
export const DEMANDED: Readonly<Record<string, Record<string, unknown>>> = { getConfigurations: { view: 'account' } }

/** Gives the call of a method that sends an example. */
export async function callOf({ route, code }: Operation, method: string, example: Example): Promise<SdkCall> {
  const schema = await readSchema(code)
  if (schema === undefined) return { method }
  const key = bodyKeyOf(code)
  const wire = {
    ...inPath(route, code, example),
    ...inQuery(example),
    ...DEMANDED[route.operationId],
    ...(example.body !== undefined && (key === undefined ? example.body : { [key!]: example.body })),
  }
  return { method, request: said(schema, wire) }
}

/** The parts of the path that the example fills, by the names that the SDK has for them: those of Berth may differ. */
function inPath({ path }: Route, code: string, { url }: Example): Record<string, string> {
  const names = [...(/pathToFunc\("([^"]+)"/.exec(code)?.[1] ?? '').matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  const parts = url.split('?', 1)[0]!.split('/')
  const values = path.split('/').flatMap((word, at) => (word.startsWith(':') ? [decodeURIComponent(parts[at]!)] : []))
  return Object.fromEntries(names.map((name, at) => [name, values[at]!]))
}

function inQuery({ url }: Example): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(url.split('?', 2)[1] ?? ''))
}

/** What the SDK gets so that it sends a value: the names of its types, and numbers and booleans where it has such. */
function said(schema: Schema, value: Json): Json {
  const { typeName, ...parts } = schema._def
  if (value === null || value === undefined) return value
  if (typeName === 'ZodEffects') return saidRenamed(parts, value)
  if (/^Zod(Optional|Nullable|Default|Branded)$/.test(typeName)) return said(parts.innerType ?? parts.type, value)
  if (typeName === 'ZodLazy') return said(parts.getter(), value)
  if (/^Zod(Discriminated)?Union$/.test(typeName)) return saidAsOne(schema.options, value)
  if (typeName === 'ZodNumber' && typeof value === 'string') return Number(value)
  if (typeName === 'ZodBoolean' && typeof value === 'string') return value === 'true'
  if (typeName === 'ZodArray') return [value].flat().map((item: Json) => said(parts.type, item))
  if (typeof value !== 'object') return value
  const entries = Object.entries<Json>(value)
  if (typeName === 'ZodRecord')
    return Object.fromEntries(entries.map(([name, item]) => [name, said(parts.valueType, item)]))
  if (typeName !== 'ZodObject') return value
  const known = entries.filter(([name]) => schema.shape[name] !== undefined)
  return Object.fromEntries(known.map(([name, item]) => [name, said(schema.shape[name], item)]))
}

/** A field that has another name on the wire than in the SDK's types. */
function saidRenamed({ schema, effect }: Schema, value: Json): Json {
  if (typeof value !== 'object' || Array.isArray(value)) return said(schema, value)
  const back = new Map([...renamesOf(effect)].map(([name, wire]) => [wire, name]))
  return said(schema, Object.fromEntries(Object.entries(value).map(([name, item]) => [back.get(name) ?? name, item])))
}

/** The first shape of a union that sends just this. */
function saidAsOne(options: readonly Schema[], value: Json): Json {
  for (const option of options) {
    const request = said(option, value)
    const { success, data } = option.safeParse(request)
    if (success && (isDeepStrictEqual(data, value) || String(data) === value)) return request
  }
  return value
}
