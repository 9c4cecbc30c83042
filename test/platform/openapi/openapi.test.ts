/** The OpenAPI document holds what a linter of such documents asks for, and says what things mean. `npx @redocly/cli lint docs/api/openapi.json` by hand. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openApiText } from '../../../src/platform/openapi/pages.ts'
import { ROUTES } from '../../../src/routes.ts'
import { root } from '../../support/root.ts'

type Operation = { operationId: string; summary?: string; description?: string }
const document = JSON.parse(openApiText(ROUTES))
const operations = [document.paths, document.webhooks].flatMap((paths) =>
  Object.values(paths as Record<string, Record<string, Operation>>).flatMap((path) => Object.values(path)),
)

/** Every object in a document. */
function* objectsIn(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield value as Record<string, unknown>
  for (const inner of Object.values(value)) yield* objectsIn(inner)
}

test('each operation and each webhook has a name of its own, a summary and a description', () => {
  assert.ok(operations.length > 140)
  for (const { operationId, summary, description } of operations)
    assert.ok(operationId && summary && description && description.length > 20, operationId)
  const names = operations.map(({ operationId }) => operationId)
  assert.deepEqual(
    names.filter((name, at) => names.indexOf(name) !== at),
    [],
  )
})

test('it states the address of its server, the license, and the version of the package', () => {
  const { version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  assert.deepEqual([document.info.version, document.info.license.identifier], [version, license])
  assert.ok(document.servers.length > 0)
})

test('each pattern has words, which is what a message says in its place', () => {
  const patterns = [...objectsIn(document)].filter(({ pattern }) => typeof pattern === 'string')
  assert.ok(patterns.length > 10)
  for (const one of patterns) assert.ok(typeof one.description === 'string', JSON.stringify(one))
})

test('a parameter of a query that must be there is said to be required', () => {
  for (const route of ROUTES) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    const { parameters } = document.paths[path][route.method.toLowerCase()]
    const said = parameters.filter((one: { in: string; required?: true }) => one.in === 'query' && one.required)
    assert.deepEqual(
      said.map(({ name }: { name: string }) => name).sort(),
      [...(route.query?.required ?? [])].sort(),
      route.operationId,
    )
  }
})

test('each reference is resolved, and the fields of a resource have descriptions', () => {
  for (const { $ref } of objectsIn(document))
    if (typeof $ref === 'string')
      assert.ok($ref.slice('#/components/schemas/'.length) in document.components.schemas, $ref)
  const properties = [...objectsIn(document)].flatMap(({ properties }) =>
    Object.values((properties ?? {}) as Record<string, { description?: string; $ref?: string }>),
  )
  const worded = properties.filter(({ description, $ref }) => description !== undefined || $ref !== undefined)
  // Names that say all there is to say (`id`, `name`, `enabled`) need no words.
  assert.ok(worded.length / properties.length > 0.5, `${worded.length} of ${properties.length}`)
  for (const name of ['Project', 'ProjectDomain', 'EnvironmentVariable']) {
    const bare = Object.entries(document.components.schemas[name].properties as Record<string, object>)
    assert.ok(bare.filter(([, one]) => 'description' in one || '$ref' in one).length / bare.length > 0.7, name)
  }
})
