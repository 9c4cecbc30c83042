/** A published SDK out of its cache folder, and which of its methods ask for something that Berth serves. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Route, unversionedPath } from '../../src/platform/http/route.ts'
import { ROUTES } from '../../src/routes.ts'
import { folderOf } from './ledger.ts'

// biome-ignore lint/suspicious/noExplicitAny: twelve versions of one client, whose types differ; the assertion is the check
export type Decoded = any
type Method = (request?: object) => Promise<Decoded>

export type Sdk = {
  version: string
  serverURL: string
  /** By Berth's operation: `projects.createProject` is the method of `createProject`. */
  methods: ReadonlyMap<string, Method>
  /** Operations whose method was published without the parameter that its path needs: it throws before it asks anything. */
  unaskable: ReadonlySet<string>
}

export function isBefore(version: string, other: string): boolean {
  return version.localeCompare(other, 'en', { numeric: true }) < 0
}

/** Opens the SDK as its users do, and reads out of its own code which route each of its methods asks. */
export async function openSdk(version: string, bearerToken: string, serverURL: string): Promise<Sdk> {
  const folder = join(folderOf(`sdk-${version}`), '@vercel', 'sdk', 'esm')
  const { Vercel } = await import(pathToFileURL(join(folder, 'index.js')).href)
  const client = new Vercel({ bearerToken, serverURL })
  const methods = new Map<string, Method>()
  const unaskable = new Set<string>()
  for (const group of namesOf(client)) {
    const api = client[group]
    if (typeof api !== 'object' || api === null) continue
    for (const name of namesOf(api)) {
      const called = /unwrapAsync\((\w+)\(/.exec(String(api[name]))?.[1]
      if (called === undefined) continue
      const code = readFileSync(join(folder, 'funcs', `${called}.js`), 'utf8')
      const route = routeOf(code)
      if (route === undefined) continue
      methods.set(route.operationId, (request) => api[name](request))
      if (/pathToFunc\("[^"]*\{[^"]*"\)\(\)/.test(code)) unaskable.add(route.operationId)
    }
  }
  assert.ok(methods.size >= 40, `${methods.size} methods of ${version}: is its code read right?`)
  return { version, serverURL, methods, unaskable }
}

/** The names of events that this version decodes, out of its own code. */
export async function eventsOf({ version }: Sdk): Promise<string[]> {
  const folder = join(folderOf(`sdk-${version}`), '@vercel', 'sdk', 'esm', 'models')
  const files = ['getwebhooksop.js', join('operations', 'getwebhooks.js')].map((file) => join(folder, file))
  const found = await import(pathToFileURL(files.find((file) => existsSync(file))!).href)
  return Object.values(found.GetWebhooksResponseBodyEvents as Record<string, string>)
}

function namesOf(thing: object): string[] {
  return Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(thing)))
    .filter(([name]) => name !== 'constructor' && !name.startsWith('_'))
    .map(([name]) => name)
}

const SERVED = new Map(
  ROUTES.filter(({ auth }) => auth === 'public').map((route) => [placeOf(route.method, route.path), route]),
)

function routeOf(code: string): Route | undefined {
  const path = /pathToFunc\("([^"]+)"\)/.exec(code)?.[1]
  const method = /method: "([A-Z]+)"/.exec(code)?.[1]
  assert.ok(path !== undefined && method !== undefined, 'a method of the SDK that asks nothing')
  return SERVED.get(placeOf(method, path))
}

/** Names of parts of a path are the reader's: `{teamId}` and `:idOrSlug` are one place. */
function placeOf(method: string, path: string): string {
  return `${method} ${unversionedPath(path).replaceAll(/\{\w+\}|:\w+/g, '*')}`
}

/** Versions 1.2.0 to 1.13.3 have classes of their own for these, which keep no status (docs/spec/wire.md 3.1). */
const STATUSES: Record<string, number> = {
  VercelBadRequestError: 400,
  VercelForbiddenError: 401,
  VercelNotFoundError: 404,
}

/** These demand one message and one code of a 400, and of some 401 and 404: they decode no other refusal. */
export function readsOneRefusal(version: string): boolean {
  return !isBefore(version, '1.2.0') && isBefore(version, '1.6.0')
}

/** What a rejected call says, out of the error class that its version has for it. A body that did not decode is not a refusal. */
export function refusalOf(version: string, error: Decoded): { status: number | undefined; code: string } {
  const name = error.constructor.name
  if (name === 'SDKValidationError' && readsOneRefusal(version))
    return { status: undefined, code: error.rawValue.error.code }
  assert.ok(name === 'SDKError' || name in STATUSES, `${name}: ${String(error).slice(0, 500)}`)
  const said = error.error ?? (JSON.parse(error.body) as Decoded).error
  return { status: STATUSES[name] ?? error.statusCode, code: said.code }
}
