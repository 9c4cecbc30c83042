/** What a row of a list may weigh, and what bounds it. Over the route table; docs/limits.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FREE_FORM_SETTINGS } from '../../../src/model/project-settings.ts'
import { freeFormFields, mustNotExceedSize } from '../../../src/model/size-limits.ts'
import { RESPONSE_BUFFER_BYTES } from '../../../src/platform/fairness/response-backpressure.ts'
import type { Route } from '../../../src/platform/http/route.ts'
import { Type } from '../../../src/platform/schema/builder.ts'
import { ROUTES } from '../../../src/routes.ts'
import { seedDeployment } from '../../support/projects.ts'
import { setSettings } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const KIB = 1024

type Shape = { items?: Shape; properties?: Record<string, Shape>; maximum?: number }

/** A page, or an object that is little else than a list. */
function isList({ method, reply }: Route): boolean {
  if (method !== 'GET' || reply === undefined) return false
  const { items, properties = {} } = reply as Shape
  const inside = Object.values(properties)
  const small = inside.length <= 3 && inside.some((property) => property.items?.properties !== undefined)
  return items !== undefined || 'pagination' in properties || small
}

test('every list says its most rows and the heaviest of them, and the greatest answer fits into what may be unsent', () => {
  const lists = ROUTES.filter(isList)
  assert.ok(lists.length > 25, `${lists.length} lists`)
  assert.deepEqual(
    ROUTES.filter((route) => route.list !== undefined).map((route) => route.operationId),
    lists.map((route) => route.operationId),
    'A route that answers a list says `list: { rows, rowBytes }`: its most rows, and the bytes of the heaviest one. ' +
      'Add it to a route of the second list that the first one lacks, and take it from one that answers no list.',
  )
  for (const { operationId, list, query } of lists) {
    const { rows, rowBytes } = list!
    assert.ok(rows * rowBytes <= RESPONSE_BUFFER_BYTES, operationId)
    const limit = (query as Shape | undefined)?.properties?.limit?.maximum
    if (limit !== undefined) assert.ok(rows >= limit, `${operationId} gives ${limit} rows`)
  }
})

test('a field of any shape is found by its schema, at whatever depth', () => {
  const open = Type.Object({}, { additionalProperties: true })
  const fields = {
    open,
    unknown: Type.Unknown(),
    within: Type.Object({ inner: Type.Array(open) }),
    map: Type.Unsafe({ type: 'object', additionalProperties: { type: 'string' } }),
    either: Type.Union([Type.String(), open]),
  }
  const closed = {
    text: Type.String(),
    one: Type.Unsafe({ enum: ['a', null] }),
    object: Type.Object({ a: Type.Boolean() }),
    list: Type.Array(Type.Integer()),
  }
  assert.deepEqual(freeFormFields({ ...fields, ...closed }), Object.keys(fields))
  assert.ok(FREE_FORM_SETTINGS.includes('trustedSources'))
})

const weighing = (bytes: number) => ({ note: 'x'.repeat(bytes - '{"note":""}'.length) })

onBothEngines(
  'free-form settings have at most 16 KiB; larger ones from before stay readable and can be made smaller',
  async (world) => {
    const { call } = world
    const most = weighing(16 * KIB)
    const over = weighing(16 * KIB + 1)
    const refused = (answer: { status: number; text: string }) => {
      assert.equal(answer.status, 400)
      assert.match(answer.text, /`trustedSources`.* should be at most 16 KiB/)
    }
    refused(await call.try('POST', '/v10/projects', { name: 'web', trustedSources: over }))
    assert.equal((await call.try('GET', '/v9/projects/web')).status, 404)
    assert.equal((await call('POST', '/v10/projects', { name: 'web', trustedSources: most })).status, 200)
    refused(await call.try('PATCH', '/v9/projects/web', { trustedSources: over, buildCommand: 'make' }))
    refused(await call.try('PATCH', '/v9/projects/web', { trustedSources: { note: 'é'.repeat(8 * KIB) } }))
    const { trustedSources, buildCommand } = (await call('GET', '/v9/projects/web')).body
    assert.deepEqual([trustedSources, buildCommand], [most, null])

    const before = weighing(200_000)
    await setSettings(world, 'web', { trustedSources: before })
    assert.deepEqual((await call('GET', '/v9/projects/web')).body.trustedSources, before)
    const [listed] = (await call('GET', '/v9/projects')).body.projects
    assert.equal('trustedSources' in listed, false, 'a list leaves it out')
    assert.equal((await call('PATCH', '/v9/projects/web', { buildCommand: 'make' })).status, 200)
    const smaller = weighing(50_000)
    assert.equal((await call('PATCH', '/v9/projects/web', { trustedSources: smaller })).status, 200)
    refused(await call.try('PATCH', '/v9/projects/web', { trustedSources: weighing(50_001) }))
    assert.deepEqual((await call('GET', '/v9/projects/web')).body.trustedSources, smaller)
    assert.equal((await call('PATCH', '/v9/projects/web', { trustedSources: null })).status, 200)
    refused(await call.try('PATCH', '/v9/projects/web', { trustedSources: over }))
  },
)

/** Fills a project with the heaviest of everything that a list shows of it. */
async function fill({ call, operator }: World, id: string, variables: number): Promise<void> {
  const control = (length: number) => '\u{1}'.repeat(length)
  const addresses = Array.from({ length: 1000 }, () => ({ value: '255.255.255.255/32', note: 'n'.repeat(20) }))
  const patch = async (body: object) => {
    const answer = await call('PATCH', `/v9/projects/${id}`, body)
    assert.equal(answer.status, 200, answer.text)
  }
  await patch({ trustedSources: weighing(16 * KIB) })
  await patch({ trustedIps: { deploymentType: 'all', protectionMode: 'exclusive', addresses } })
  const lines = ['buildCommand', 'devCommand', 'installCommand', 'outputDirectory', 'commandForIgnoringBuildStep']
  await patch(Object.fromEntries(lines.map((name) => [name, control(256)])))
  for (let at = 0; at < 11; at++) {
    const made = await call.try('POST', `/v9/projects/${id}/custom-environments`, {
      slug: `environment-${at}`,
      description: control(256),
      branchMatcher: { type: 'startsWith', pattern: 'p'.repeat(100) },
    })
    assert.ok(made.status < 300, made.text)
  }
  const env = Array.from({ length: variables }, (_, at) => ({
    ...{ key: `${'K'.repeat(250)}_${at}`, value: 'v', type: 'plain', target: ['production'], comment: control(500) },
  }))
  const made = await call.try('POST', `/v10/projects/${id}/env`, env)
  assert.ok(made.status < 300, made.text)
  const meta = Object.fromEntries(Array.from({ length: 4 }, (_, at) => [`key${at}`, 'm'.repeat(900)]))
  for (let at = 0; at < 6; at++)
    await seedDeployment({ operator } as World, id, {
      url: `${at}-${'h'.repeat(50)}.${id.slice(-8).toLowerCase()}.test`,
      meta,
    })
}

onBothEngines(
  'the heaviest projects: every row is in the page, none weighs more than the table says, each is complete on its own',
  async (world) => {
    const { call, operator, credentials } = world
    await operator('PATCH', `/operator/v1/accounts/${credentials.userId}`, { plan: 'enterprise' })
    const counts = [0, 12, 14, 300, 301]
    for (const [at, variables] of counts.entries()) {
      const { body } = await call('POST', '/v10/projects', { name: `heavy-${at}` })
      await fill(world, body.id, variables === 0 ? 1 : variables)
    }
    const { projects } = (await call('GET', '/v9/projects?limit=100')).body
    assert.equal(projects.length, counts.length)
    const { rowBytes } = ROUTES.find(({ operationId }) => operationId === 'getProjects')!.list!
    for (const row of projects) {
      const bytes = Buffer.byteLength(JSON.stringify(row))
      assert.ok(bytes > 64 * KIB && bytes <= rowBytes, `${row.name}: ${bytes} bytes`)
      assert.ok(row.latestDeployments.length === 5 && row.trustedIps.addresses.length === 1000)
      const whole = (await call('GET', `/v9/projects/${row.name}`)).body
      assert.equal(Object.keys(whole.latestDeployments[0].meta).length, 4)
      assert.equal(whole.env.length, Math.max(1, counts[Number(row.name.at(-1))]!))
    }
    const shown = projects.map((row: { env?: unknown[] }) => row.env?.length).reverse()
    assert.deepEqual(shown, [1, 12, undefined, undefined, undefined])
  },
)

test('settings that are too heavy together are refused with the name of the heaviest', () => {
  const after = { light: 'x'.repeat(100), heavy: 'x'.repeat(900), middle: 'x'.repeat(500) }
  assert.throws(() => mustNotExceedSize({}, after, ['light', 'heavy', 'middle'], 1024), /`heavy`, with the settings/)
})
