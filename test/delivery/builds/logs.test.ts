/** Logs of builds: stored once, followed live, bounded, and ended with the reason. docs/building.md: Logs. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { MAX_LOG_BYTES } from '../../../src/delivery/builds/log.ts'
import { eventually } from '../../support/eventually.ts'
import { seedProject } from '../../support/projects.ts'
import { setLogBytes } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { mustCountRight } from '../deploys/deploying.ts'
import { thereIs } from '../uploads/uploading.ts'
import { BUILDS, buildOf, createSource, OUTPUT, openRunners, stateOf } from './building.ts'

type Line = { serial: string; text: string; type: string; date: number; created: number; info: object }

const eventsOf = async (world: World, id: string, query = '') =>
  (await world.call('GET', `/v3/deployments/${id}/events${query}`)).body as Line[]

/** Follows the log of a deployment; `lines` grows as they come. */
async function follow(world: World, origin: string, id: string, query = '', agent = 'node') {
  const lines: Line[] = []
  const headers = { authorization: `Bearer ${world.credentials.token}`, 'user-agent': agent }
  const path = `/v3/now/deployments/${id}/events?direction=forward&follow=1&format=lines${query}`
  const answer = await fetch(`${origin}${path}`, { headers })
  assert.equal(answer.status, 200)
  const read = async () => {
    let rest = ''
    for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + piece).split('\n')
      rest = parts.pop()!
      lines.push(...parts.map((part) => JSON.parse(part) as Line))
    }
  }
  return { lines, ended: read() }
}

onBothEngines(
  'the stream of a READY deployment ends with its names for command lines that end at them, and for no others',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const { id } = await createSource(world, { target: 'production' })
    const origin = await world.listen()
    const NEWEST = 'vercel 64.0.2 node-v24.0.0 linux (x64)'
    const stream = await follow(world, origin, id, '', NEWEST)
    const runner = runners.of(await runners.take())
    for (const content of Object.values(OUTPUT)) await runner.put(content)
    assert.equal((await runner.succeed()).status, 200)
    await stream.ended
    const { alias, ready } = await stateOf(world, id)
    const [state, names] = stream.lines.slice(-2)
    assert.equal(state!.text, 'The deployment is READY.')
    const expected = {
      type: 'alias-assigned',
      deploymentId: id,
      date: ready,
      alias,
      aliasError: null,
      aliasWarning: null,
    }
    assert.deepEqual(names, expected)
    assert.ok(alias.length > 0)
    for (const agent of ['vercel 50.44.0 node-v22.0.0 linux (x64)', 'node', 'speakeasy-sdk/typescript 1.28.35']) {
      const other = await follow(world, origin, id, '', agent)
      await other.ended
      assert.deepEqual(other.lines, stream.lines.slice(0, -1), agent)
    }
    assert.deepEqual(await eventsOf(world, id), stream.lines.slice(0, -1), 'a list has none')
    const failed = await createSource(world)
    await runners.of(await runners.take()).fail('BUILD_FAILED', 'no')
    const late = await follow(world, origin, failed.id, '', NEWEST)
    await late.ended
    assert.deepEqual(
      late.lines.map(({ type }) => type),
      ['fatal'],
    )
    await runners.close()
  },
  BUILDS,
)

onBothEngines(
  'a follower sees lines as they arrive, and the stream ends with the reason of the failure',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const { id } = await createSource(world)
    const origin = await world.listen()
    const stream = await follow(world, origin, id)
    const runner = runners.of(await runners.take())
    assert.equal((await runner.log(0, 'npm install', 'added 3 packages')).status, 200)
    await eventually(() => stream.lines.length === 2)
    await runner.log(2, 'npm run build')
    await eventually(() => stream.lines.length === 3)
    assert.equal((await runner.fail('BUILD_FAILED', 'Command "npm run build" exited with 1')).status, 200)
    await stream.ended
    assert.deepEqual(
      stream.lines.map(({ serial, type, text }) => [serial, type, text]),
      [
        ['0', 'stdout', 'npm install'],
        ['1', 'stdout', 'added 3 packages'],
        ['2', 'stdout', 'npm run build'],
        ['3', 'fatal', 'Error: Command "npm run build" exited with 1 (BUILD_FAILED)'],
      ],
    )
    const failed = await stateOf(world, id)
    assert.deepEqual(
      [failed.readyState, failed.errorCode, failed.errorMessage],
      ['ERROR', 'BUILD_FAILED', 'Command "npm run build" exited with 1'],
    )
    assert.deepEqual(await eventsOf(world, id), stream.lines)
    assert.deepEqual(await eventsOf(world, id, '?direction=backward&limit=2'), stream.lines.slice(2).reverse())
    const late = await follow(world, origin, id, `&since=${stream.lines[2]!.date}`)
    await late.ended
    assert.deepEqual(late.lines, stream.lines.slice(2))
    const { builds } = (await world.call('GET', `/v11/deployments/${id}/builds`)).body
    assert.deepEqual([builds.length, builds[0].readyState], [1, 'ERROR'])
    await mustCountRight(world)
    await world.call('DELETE', `/v13/deployments/${id}`)
    await mustCountRight(world)
    await runners.close()
  },
  BUILDS,
)

onBothEngines(
  'lines that come twice are stored once, a gap is refused, and control characters are taken out',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const { id } = await createSource(world)
    const runner = runners.of(await runners.take())
    await runner.log(0, 'a', 'b')
    const again = await Promise.all([runner.log(1, 'b', 'c'), runner.log(1, 'b', 'c'), runner.log(0, 'a', 'b', 'c')])
    assert.deepEqual(
      again.map(({ body }) => body.acknowledged),
      [3, 3, 3],
    )
    const gap = await runner.log(4, 'e')
    assert.equal(gap.status, 400)
    assert.match(gap.body.error.message, /first is 4, and line 3 is next/)
    await runner.log(3, '\u001b[31mred\u001b[0m \u001b]0;title\u0007\u001b[2J\tdone\r\u0000\u009b')
    assert.deepEqual(
      (await eventsOf(world, id)).map(({ text }) => text),
      ['a', 'b', 'c', '\u001b[31mred\u001b[0m ]0;title[2J\tdone'],
    )
    await runners.close()
  },
  BUILDS,
)

onBothEngines(
  'a log above its budget has one line that says so, and its runner continues',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const { id } = await createSource(world)
    const runner = runners.of(await runners.take())
    await runner.log(0, 'first')
    await setLogBytes(world, MAX_LOG_BYTES - 100)
    assert.equal((await runner.log(1, 'fits', 'x'.repeat(100), 'no more')).body.acknowledged, 4)
    assert.equal((await runner.log(4, 'nor this')).body.acknowledged, 5)
    assert.deepEqual(
      (await eventsOf(world, id)).map(({ text }) => text),
      ['first', 'fits', 'The log has more than 16 MiB. Later output is not kept.'],
    )
    assert.equal(Number((await buildOf(world, id)).log_bytes), MAX_LOG_BYTES)
    const said = [{ type: 'fatal', date: 2000, text: 'Error: no such module' }]
    for (const first of [5, 6])
      assert.equal((await runner.post('log', { first, lines: said })).body.acknowledged, first + 1)
    await setLogBytes(world, MAX_LOG_BYTES + 2 ** 20)
    assert.equal((await runner.post('log', { first: 7, lines: said })).body.acknowledged, 8)
    assert.deepEqual(
      (await eventsOf(world, id)).slice(3).map(({ type, text }) => [type, text]),
      Array(2).fill(['fatal', 'Error: no such module']),
    )
    await mustCountRight(world)
    await runners.close()
  },
  BUILDS,
)

onBothEngines(
  'a log ends with one line where its account has no room, and its build continues',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const { id } = await createSource(world)
    const runner = runners.of(await runners.take())
    await runner.log(0, 'first')
    const { files } = world.deps.config
    const [atFirst, perAccount] = [(await thereIs(world)).used[0]!, files.perAccount]
    files.perAccount = atFirst + 100
    assert.equal((await runner.log(1, 'x'.repeat(50), 'x'.repeat(50), 'x')).body.acknowledged, 4)
    for (let line = 4; line < 8; line++)
      assert.equal((await runner.log(line, randomBytes(4000).toString('hex'))).body.acknowledged, line + 1)
    assert.deepEqual((await thereIs(world)).used, [atFirst + 4096])
    files.perAccount = perAccount
    assert.equal((await runner.log(8, 'too late')).body.acknowledged, 9)
    await runner.post('log', { first: 9, lines: [{ type: 'fatal', date: 2000, text: 'Error: no such module' }] })
    assert.deepEqual(
      (await eventsOf(world, id)).map(({ text }) => text),
      [
        'first',
        'x'.repeat(50),
        'The account has no room for more files. Later output is not kept. Remove deployments first.',
        'Error: no such module',
      ],
    )
    for (const content of Object.values(OUTPUT)) await runner.put(content)
    assert.equal((await runner.succeed()).status, 200)
    assert.equal((await stateOf(world, id)).readyState, 'READY')
    await mustCountRight(world)
    await runners.close()
  },
  BUILDS,
)
