/** What the newest SDK says is kept, refused, or passed over for a reason in docs/clients.md; nothing is lost in silence. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { REFUSED_VALUES, withFields } from '../../scripts/passed-over.ts'
import { rejectUnknownFilters } from '../../src/platform/http/query.ts'
import { isList, type Route } from '../../src/platform/http/route.ts'
import { ROUTES } from '../../src/routes.ts'
import { root } from '../support/root.ts'
import { type Fields, type Operation, readNewestSdk } from './newest-sdk.ts'

const operations = await readNewestSdk()

// biome-ignore lint/suspicious/noExplicitAny: a schema is walked as JSON
type Json = any

test('the newest SDK is read right: its operations, what they send, and what it may be', () => {
  assert.ok(operations.length >= 70, `${operations.length} operations`)
  const of = (id: string) => operations.find(({ route }) => route.operationId === id)!
  assert.ok(of('getDeployments').query.has('sha'))
  assert.ok(of('updateProject').body.get('nodeVersion')!.has('22.x'))
  assert.ok(of('createProjectEnv').body.has('customEnvironmentIds'))
  assert.ok(of('updateProject').body.has('resourceConfig.fluid'))
})

/** As docs/clients.md says of every list. */
const HARMLESS = new Set(['teamId', 'slug', 'source', 'limit'])

test('every query parameter of the newest SDK narrows, is refused, or is passed over for a documented reason', () => {
  const lost: string[] = []
  for (const { route, query } of operations) {
    for (const name of query.keys()) {
      if (HARMLESS.has(name) || name in (route.query?.properties ?? {})) continue
      if (route.ignores?.query?.[name] !== undefined) continue
      if (isList(route) && refuses(route, name)) continue
      lost.push(`${route.operationId} ${name}`)
    }
  }
  assert.deepEqual(lost, [])
})

function refuses(route: Route, name: string): boolean {
  assert.throws(
    () => rejectUnknownFilters(route, { values: { [name]: 'x' }, again: new Map(), fault: undefined }),
    /not a filter/,
  )
  return true
}

test('every body field of the newest SDK is kept, refused, or passed over for a documented reason', () => {
  const lost = operations.flatMap(({ route, body }) =>
    [...body.keys()].filter((path) => !isTaken(route, path)).map((path) => `${route.operationId} ${path}`),
  )
  assert.deepEqual(lost, [])
})

function isTaken(route: Route, path: string): boolean {
  const above = path.split('.').map((_, at, all) => all.slice(0, at + 1).join('.'))
  if (above.some((part) => route.ignores?.body?.[part] !== undefined)) return true
  // An object where a text must be is refused, with all that is in it.
  if (above.slice(0, -1).some((part) => mustBeText(route, part))) return true
  return schemasAt(route.body, path).length > 0
}

function mustBeText(route: Route, path: string): boolean {
  const schemas = schemasAt(route.body, path)
  return schemas.length > 0 && schemas.every(({ type }) => type === 'string')
}

/** The schemas that a body has at a path: none where the field would be dropped. */
function schemasAt(schema: Json, path: string): Json[] {
  let here: Json[] = variantsOf(schema)
  for (const name of path.split('.')) {
    here = here.flatMap((one) => {
      if (one['x-unsupported'] !== undefined || one.additionalProperties === true || isAnything(one)) return [one]
      const inner = one.properties?.[name] ?? Object.values<Json>(one.patternProperties ?? {})[0]
      return inner === undefined ? [] : variantsOf(inner)
    })
  }
  return here
}

/** What a schema may be: of a list its items, of a union each. */
function variantsOf(schema: Json): Json[] {
  if (schema === undefined) return []
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap(variantsOf)
  return schema.items === undefined ? [schema] : variantsOf(schema.items)
}

function isAnything(schema: Json): boolean {
  return schema.type === undefined && schema.properties === undefined && schema.enum === undefined
}

test('every value that the newest SDK lists for a field is taken, or named in docs/clients.md with why not', () => {
  const refused = operations.flatMap(({ route, query, body }) => [
    ...valuesRefused(query, (name) => variantsOf(route.query?.properties?.[name])).map(
      (said) => [route, said] as const,
    ),
    ...valuesRefused(body, (path) => schemasAt(route.body, path)).map((said) => [route, said] as const),
  ])
  const why = (path: string, value: string) =>
    Object.entries(REFUSED_VALUES).some(
      ([field, { values }]) => `.${path}`.endsWith(`.${field}`) && values.includes(value),
    )
  const lost = refused.filter(([, { path, value }]) => !why(path, value))
  assert.equal(lost.map(([route, { path, value }]) => `${route.operationId} ${path}=${value}`).join('\n'), '')
})

function valuesRefused(fields: Fields, schemasOf: (path: string) => Json[]): { path: string; value: string }[] {
  return [...fields].flatMap(([path, values]) => {
    const schemas = schemasOf(path)
    const limited =
      schemas.length > 0 && schemas.every((one) => one.enum !== undefined && one['x-unsupported'] === undefined)
    if (!limited) return []
    const taken = new Set(schemas.flatMap((one) => one.enum.map(String)))
    return [...values].filter((value) => !taken.has(value)).map((value) => ({ path, value }))
  })
}

test('what is passed over is a field of the newest SDK, and docs/clients.md names it', () => {
  const stale: string[] = []
  for (const route of ROUTES) {
    const sent = operations.filter((one: Operation) => one.route === route)
    for (const kind of ['query', 'body'] as const) {
      for (const name of Object.keys(route.ignores?.[kind] ?? {})) {
        if (!sent.some((one) => one[kind].has(name))) stale.push(`${route.operationId} ${name}`)
      }
    }
  }
  assert.deepEqual(stale, [])
  const page = readFileSync(join(root, 'docs', 'clients.md'), 'utf8')
  assert.equal(withFields(page, ROUTES), page, 'docs/clients.md is stale: run "npm run openapi" and commit it')
})
