/** Thousands of requests made from the route table with values of wrong kinds: never a 500, always a declared answer. */
import assert from 'node:assert/strict'
import { REFUSALS } from '../src/errors.ts'
import { type Route, refusalsOf } from '../src/http/route.ts'
import { ROUTES } from '../src/routes.ts'
import { callerOf, openPlace, type Place, sampleOf } from './place.ts'
import { type Answer, onBothEngines } from './world.ts'

const SEED = 20_261_121
const REQUESTS = 2000

type Random = (below: number) => number
type Shape = { type?: string | string[]; properties?: Record<string, Shape>; items?: Shape; enum?: unknown[] }

/** mulberry32: the same requests on every run. */
function randomFrom(seed: number): Random {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const pick = <T>(random: Random, values: readonly T[]): T => values[random(values.length)]!

const STRANGE: readonly unknown[] = [
  ...[
    null,
    true,
    false,
    0,
    -1,
    1.5,
    1e21,
    -1e308,
    2 ** 53,
    2 ** 53 - 1,
    -(2 ** 53) + 1,
    2 ** 31,
    -0,
    '',
    ' ',
    'a',
    '0',
    'null',
  ],
  ...[
    '\u0000',
    '\ud800',
    'x'.repeat(300),
    'x'.repeat(70_000),
    '🙂',
    '\u202e',
    "'; drop table project; --",

    '%',
    '../..',
  ],
  ...[
    '__proto__',
    'constructor',
    'prj_',
    'team_',
    'toString',
    '2026-01-01',
    'read-write:project',
    'enterprise',
    'a@b',
    '1.2.3.4/8',
  ],
  ...[
    [],
    [null],
    [[]],
    {},
    { a: 1 },
    { toString: 1 },
    { constructor: { prototype: 1 } },
    { length: -1 },
    Array(1100).fill({ value: '1.1.1.1' }),
  ],
]

/** Mostly what the schema asks for, now and then something else. */
function valueFor(random: Random, shape: Shape): unknown {
  if (random(5) === 0) return pick(random, STRANGE)
  if (shape.enum) return pick(random, shape.enum)
  const type = Array.isArray(shape.type) ? pick(random, shape.type) : shape.type
  if (type === 'object') return objectFor(random, shape)
  if (type === 'array') return Array.from({ length: random(4) }, () => valueFor(random, shape.items ?? {}))
  if (type === 'string')
    return pick(random, ['a', 'web', 'read:project', '/a', '10.0.0.1', 'x'.repeat(random(110)), 'A b', 'a@b.c'])
  if (type === 'integer' || type === 'number')
    return pick(random, [0, 1, 100, 101, -1, 1_900_000_000_000, 2 ** 53 - 1, random(1e6)])
  if (type === 'boolean') return random(2) === 0
  return pick(random, STRANGE)
}

function objectFor(random: Random, shape: Shape): unknown {
  const made: Record<string, unknown> = {}
  for (const [name, inner] of Object.entries(shape.properties ?? {})) {
    if (random(4) === 0) made[name] = valueFor(random, inner)
  }
  if (random(6) === 0) made[pick(random, ['extra', '__proto__', 'constructor', 'id', ''])] = pick(random, STRANGE)
  return made
}

function queryFor(random: Random, route: Route, place: Place): string {
  const names = [
    ...Object.keys((route.query as Shape | undefined)?.properties ?? {}),
    'teamId',
    'slug',
    'extra',
    '__proto__',
  ]
  const values = [
    '',
    '1',
    '0',
    '-1',
    '101',
    'abc',
    'true',
    '1e3',
    place.teamId,
    'team',
    '%00',
    '%zz',
    '%ff',
    '1900000000000',
    '1945600000000000',
    '9'.repeat(16),
    'a%20b',
    '%25',
    'x'.repeat(300),
  ]
  const pairs = Array.from(
    { length: random(4) === 0 ? 1 + random(3) : 0 },
    () => `${pick(random, names)}=${pick(random, values)}`,
  )
  return pairs.length > 0 ? `?${pairs.join('&')}` : ''
}

function bodyFor(random: Random, route: Route): string | undefined {
  if (!route.body && random(5) > 0) return undefined
  const kind = random(30)
  if (kind === 0) return ''
  if (kind === 1) return JSON.stringify(pick(random, STRANGE))
  const text = JSON.stringify(objectFor(random, (route.body ?? {}) as Shape))
  if (kind === 2) return text.slice(0, random(text.length))
  return text
}

/** The answer is of the table: its success with its type, or one of the declared refusals. */
function mustBeDeclared(route: Route, answer: Answer, said: string): void {
  assert.ok(answer.status < 500, `${said}: ${answer.text.slice(0, 300)}`)
  if (answer.status === route.status) {
    if (route.reply) assert.equal(typeof answer.body, 'object', said)
    return
  }
  const { code, message } = answer.body?.error ?? {}
  assert.ok(
    typeof message === 'string' && message.length > 0 && message.length < 700,
    `${said}: ${answer.text.slice(0, 900)}`,
  )
  const declared = refusalsOf(route).some((key) => REFUSALS[key][0] === answer.status && REFUSALS[key][1] === code)
  assert.ok(declared, `${said}: ${answer.status} ${code} is not declared`)
}

onBothEngines(
  `${REQUESTS} requests with values of wrong kinds get a declared answer each, and none is a 500`,
  async (world) => {
    const place = await openPlace(world)
    const random = randomFrom(SEED)
    let taken = 0
    const path = {
      idOrName: ['web', 'secret', '%00', 'x'.repeat(513), '🙂', '.'],
      id: ['tok_x', place.spare.tokenId],
      name: ['expired-tokens', '__proto__'],
    }
    for (let at = 0; at < REQUESTS; at++) {
      const route = ROUTES[at % ROUTES.length]!
      const said = pick(random, path.idOrName)
      const named =
        random(3) > 0 ? {} : { idOrName: said, projectId: said, idOrSlug: said, userId: said, accountId: said }
      const sample = sampleOf(route, place, {
        ...named,
        ...(random(2) === 0 && { id: pick(random, path.id), name: pick(random, path.name) }),
      })
      const url = `${sample.url.split('?')[0]}${queryFor(random, route, place)}`
      const body = bodyFor(random, route)
      const call = callerOf(route, world)
      const answer = await call(route.method, encodeURI(url).replaceAll('%25', '%'), body)
      if (said === '.' && 'idOrName' in named) assert.ok(answer.status < 500, answer.text)
      else mustBeDeclared(route, answer, `request ${at}: ${route.method} ${url} ${body?.slice(0, 300)}`)
      if (answer.status === route.status) taken++
      if (await isGone(world.call)) await world.call('POST', '/v10/projects', { name: 'web' })
    }
    assert.ok(taken > REQUESTS / 10, `only ${taken} requests were taken: the fuzz has lost its aim`)
    assert.equal((await world.as(place.rival.token)('GET', '/v9/projects/secret')).body.id, place.rival.projectId)
  },
)

async function isGone(call: (method: 'GET', url: string) => Promise<Answer>): Promise<boolean> {
  return (await call('GET', '/v9/projects/web')).status === 404
}
