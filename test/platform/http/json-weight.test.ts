/** What a body becomes once it is parsed is counted before it is, and bodies that wait are not parsed yet. docs/limits.md: Sizes and timeouts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TSchema } from 'typebox'
import { DEEPEST, excessOf, MAX_PARTS, weighsAtMost } from '../../../src/platform/schema/json-weight.ts'
import { READERS } from '../../../src/readers.ts'
import { ROUTES } from '../../../src/routes.ts'
import { seedProject } from '../../support/projects.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const MIB = 1024 * 1024
const excess = (text: string) => excessOf(Buffer.from(text))

test('the names, values and containers of a text are counted, and not the content of strings', () => {
  const values = (count: number) => `[${'1,'.repeat(count - 1)}1]`
  assert.equal(excess(values(MAX_PARTS - 1)), undefined)
  assert.equal(excess(values(MAX_PARTS)), 'parts')
  const pairs = (count: number) => `{${Array.from({ length: count }, (_, at) => `"${at}":0`).join(',')}}`
  assert.equal(excess(pairs(MAX_PARTS / 2 - 1)), undefined)
  assert.equal(excess(pairs(MAX_PARTS / 2 + 1)), 'parts')
  assert.equal(excess(`["${'[{,:'.repeat(MAX_PARTS)}"]`), undefined)
  assert.equal(excess(`["${'\\"['.repeat(MAX_PARTS)}\\\\",1]`), undefined)
  assert.equal(excess(`["\\\\",${values(MAX_PARTS)}]`), 'parts', 'a string ends behind an escaped backslash')
  assert.equal(excess('['.repeat(DEEPEST) + ']'.repeat(DEEPEST)), undefined)
  assert.equal(excess('{"a":'.repeat(DEEPEST + 1)), 'depth')
  assert.equal(excess(`[${'[],'.repeat(2 * DEEPEST)}[]]`), undefined)
  for (const text of ['', '"', '"\\', ']]]]', '\0']) assert.equal(excess(text), undefined)
})

test('what a text is counted as is never less than what it holds', () => {
  const count = (value: unknown): number => {
    if (typeof value !== 'object' || value === null) return 1
    const names = Array.isArray(value) ? 0 : Object.keys(value).length
    return Object.values(value).reduce<number>((sum, inner) => sum + count(inner), 1 + names)
  }
  for (const one of ['{}', '[]', '"x"', '[[]]', '{"a":{}}', '{"a":[1,{"b":2}],"c":"d"}']) {
    const atMost = Math.floor((MAX_PARTS * 1.5) / count(JSON.parse(one)))
    const text = `[${`${one},`.repeat(atMost)}0]`
    assert.ok(count(JSON.parse(text)) > MAX_PARTS)
    assert.equal(excess(text), 'parts', one)
  }
})

test('a value of any shape is weighed no further than it may weigh', () => {
  for (const value of [null, true, 12.5, 'text', [], {}, [1, 'two', [null]], { a: 1, b: { c: ['d'] } }]) {
    const bytes = JSON.stringify(value).length
    assert.equal(weighsAtMost(value, bytes), true, JSON.stringify(value))
    assert.equal(weighsAtMost(value, bytes - 1), false, JSON.stringify(value))
  }
  let looked = 0
  const watched = new Proxy(Array(1000).fill('x'.repeat(100)), {
    get: (all, name) => {
      if (typeof name === 'string' && /^\d/.test(name)) looked++
      return Reflect.get(all, name)
    },
  })
  assert.equal(weighsAtMost(watched, 1000), false)
  assert.ok(looked <= 11, `${looked} looked at`)
})

/** The fields below a schema whose value may have any shape, and that nothing weighs. */
function unweighed(schema: TSchema, path: string): string[] {
  const { type, properties, items, anyOf, patternProperties, additionalProperties, ...rest } = schema as Record<
    string,
    unknown
  > & {
    properties?: Record<string, TSchema>
    patternProperties?: Record<string, TSchema>
    items?: TSchema
    anyOf?: TSchema[]
  }
  if ('x-most-bytes' in rest || 'x-unsupported' in rest || 'enum' in rest || 'const' in rest) return []
  const below = [...(anyOf ?? []), ...(items ? [items] : []), ...Object.values(patternProperties ?? {})]
  const inner = [
    ...below.flatMap((one) => unweighed(one, path)),
    ...Object.entries(properties ?? {}).flatMap(([name, one]) => unweighed(one, `${path}.${name}`)),
  ]
  const isOpen = type === undefined ? anyOf === undefined : additionalProperties === true
  return isOpen ? [path, ...inner] : inner
}

test('every value of any shape in a long body is weighed by its schema', () => {
  const long = ROUTES.filter(
    ({ body, textBody, bodyLimit = 0 }) => body && !textBody && bodyLimit > READERS['JSON body'].bytes,
  )
  assert.ok(long.length >= 5)
  assert.deepEqual(
    long.flatMap(({ operationId, body }) => unweighed(body!, operationId)),
    [],
  )
  assert.deepEqual(
    unweighed(
      { type: 'object', properties: { a: {}, b: { type: 'object', additionalProperties: true } } } as TSchema,
      'x',
    ),
    ['x.a', 'x.b'],
  )
})

const OBJECTS = `[${'{},'.repeat(MIB / 3 - 10)}{}]`

onBothEngines(
  'a body that would be far more than its bytes is refused for the price of reading it (a bound on time)',
  async (world) => {
    await seedProject(world, 'web')
    const cost = async (body: string, named: RegExp) => {
      const costs: number[] = []
      for (let round = 0; round < 7; round++) {
        const began = process.threadCpuUsage()
        const { status, text } = await world.call.try('POST', '/v10/projects', body)
        const { user, system } = process.threadCpuUsage(began)
        assert.equal(status, 400)
        assert.match(text, named)
        costs.push((user + system) / 1000)
      }
      return costs.sort((a, b) => a - b)[3]!
    }
    // As long, and one string: what it costs to take a body of a mebibyte at all.
    const text = await cost(
      JSON.stringify({ buildCommand: 'x'.repeat(OBJECTS.length - 100) }),
      /missing required property `name`/,
    )
    const objects = await cost(
      `{"name":"n","trustedSources":{"a":${OBJECTS.slice(0, -100)}]}}`,
      /more than 50,000 names and values/,
    )
    assertWithin(objects, 3 * text + 10)
    const array = await world.call.try('POST', '/v10/projects/web/env', OBJECTS)
    assert.deepEqual([array.status, array.body.error.code], [400, 'bad_request'])
    const heavy = { a: Array(10_000).fill({}) }
    const project = { name: 'n', trustedSources: heavy }
    const refused = await world.call.try('POST', '/v10/projects', project)
    assert.match(refused.text, /`trustedSources` should be at most 16 KiB of JSON/)
    assert.equal((await world.call.try('PATCH', '/v9/projects/web', { trustedSources: heavy })).status, 400)
  },
)

/** Holds the next write of the world until it is released. */
function holdWrite(world: World): { begun: Promise<void>; letGo: () => void } {
  const { db } = world.deps
  const { write } = db
  const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  db.write = (async (...given: Parameters<typeof write>) => {
    db.write = write
    begun.resolve()
    await held.promise
    return write(...given)
  }) as typeof write
  return { begun: begun.promise, letGo: held.resolve }
}

onBothEngines('a long body that waits for its turn is not parsed yet', async (world) => {
  await seedProject(world, 'web')
  const long = (more: object) => ({ buildCommand: 'make', note: 'x'.repeat(9000), ...more })
  const parse = JSON.parse
  let parsed = 0
  JSON.parse = (text: string, ...more) => {
    if (text.includes('"note":"xxx')) parsed++
    return parse(text, ...more)
  }
  try {
    const first = holdWrite(world)
    const all = [world.call.try('PATCH', '/v9/projects/web', long({}))]
    await first.begun
    for (let at = 0; at < 20; at++) all.push(world.call.try('PATCH', '/v9/projects/web', long({ devCommand: `${at}` })))
    // Another account meanwhile: what was sent before it has been read.
    const other = await world.user('other')
    assert.equal((await other.call('POST', '/v10/projects', { name: 'theirs' })).status, 200)
    assert.equal(parsed, 1)
    first.letGo()
    assert.deepEqual([...new Set((await Promise.all(all)).map(({ status }) => status))], [200])
    assert.equal(parsed, 21)
  } finally {
    JSON.parse = parse
  }
})
