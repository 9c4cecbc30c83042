/** How the control plane ends builds whose runner does not, and reports that no honest runner sends. docs/building.md: Leases, Output. */
import assert from 'node:assert/strict'
import { LEASE_TIMES } from '../../../src/delivery/protocol/runner-protocol.ts'
import { runTimer } from '../../../src/timers.ts'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { mustCountRight } from '../deploys/deploying.ts'
import { BUILDS, buildOf, createSource, entriesOf, OUTPUT, openRunners, stateOf } from './building.ts'

const MINUTE_MS = 60_000

async function passTime({ deps }: World, ms: number): Promise<void> {
  deps.clock.set(deps.clock.now() + ms)
}

onBothEngines(
  'a runner past the time limit is ordered to end the build, and loses the lease if it does not',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const { id } = await createSource(world)
    const runner = runners.of(await runners.take())
    const sweep = () => runTimer(world.deps, 'lost-builds', world.deps.clock.now())
    await passTime(world, LEASE_TIMES.buildMs + MINUTE_MS)
    assert.equal((await runner.beat()).status, 200)
    await sweep()
    assert.equal((await stateOf(world, id)).readyState, 'BUILDING', 'the runner has time to say so itself')
    await passTime(world, 2 * MINUTE_MS)
    assert.equal((await runner.beat()).body.cancel, false)
    await sweep()
    const ended = await stateOf(world, id)
    assert.deepEqual([ended.readyState, ended.errorCode], ['ERROR', 'BUILD_TIMED_OUT'])
    assert.match(ended.errorMessage, /longer than 45 minutes/)
    assert.equal((await runner.beat()).body.cancel, true)
    await sweep()
    assert.equal((await runner.beat()).status, 200)
    await passTime(world, 3 * MINUTE_MS)
    assert.equal((await runner.beat()).status, 200)
    await sweep()
    assert.equal((await runner.beat()).status, 409)
    assert.equal((await buildOf(world, id)).state, 'ended')
    await runners.close()
  },
  BUILDS,
)

const FILE = '.vercel/output/static/page'

/** TABLE lists of files that no honest runner reports → what the build says. */
const REPORTS: Record<string, [extra: object[], sentence: RegExp]> = {
  'one path twice': [[file(FILE), file(FILE)], /page is there twice/],
  'a file and a folder of one name': [
    [file(FILE), { path: FILE, kind: 'folder', mode: 0o040755, size: 0 }],
    /page is a file or a link, and other entries lie below it/,
  ],
  'a file below a file': [[file(FILE), file(`${FILE}/below`)], /page is a file or a link/],
  'a link and a file of one name': [[{ ...link(FILE, 'index.html') }, file(FILE)], /page is there twice/],
  'a link without a target': [[{ path: FILE, kind: 'link', mode: 0o120777, size: 0 }], /page .*link/],
  'a file without a digest': [[{ ...file(FILE), digest: undefined }], /page was not sent/],
  'an empty path': [[{ ...file(FILE), path: '' }], /./],
  'a path with a zero byte': [[file(`${FILE}\u0000`)], /./],
  'half a character': [[file(`${FILE}\ud800`)], /./],
  'a negative size': [[{ ...file(FILE), size: -1 }], /has \d+ bytes, not -1/],
  'an endless path': [[file(`${FILE}/${'a'.repeat(300_000)}`)], /./],
  'a path of many folders': [[file(`${FILE}${'/a'.repeat(5000)}`)], /./],
  'the key of every object': [[file('.vercel/output/static/__proto__')], /^$|./],
  'a link to itself': [[link(FILE, 'page')], /^$|./],
}

function file(path: string) {
  const [entry] = entriesOf({ [path]: OUTPUT['.vercel/output/static/index.html']! })
  return entry!
}

function link(path: string, target: string) {
  return { path, kind: 'link', mode: 0o120777, size: target.length, target }
}

onBothEngines(
  'a report that no honest runner sends ends the build with a code of its own, or is accepted',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    for (const [name, [extra, sentence]] of Object.entries(REPORTS)) {
      const { id } = await createSource(world)
      const runner = runners.of(await runners.take())
      for (const content of Object.values(OUTPUT)) assert.equal((await runner.put(content)).status, 200)
      const entries = [...entriesOf(OUTPUT), ...extra]
      const finished = await runner.finish({ outcome: 'succeeded', builder: 'vercel@64.0.2', entries })
      assert.equal(finished.status, 200, `${name}: ${finished.text}`)
      const { readyState, errorCode, errorMessage } = await stateOf(world, id)
      if (readyState === 'READY') assert.match('', sentence, name)
      else assert.deepEqual([readyState, errorCode], ['ERROR', 'BUILD_OUTPUT_REFUSED'], name)
      if (readyState === 'ERROR') assert.match(errorMessage, sentence, name)
      assert.ok((errorMessage?.length ?? 0) <= 2000, name)
      assert.equal((await buildOf(world, id)).state, 'ended', name)
    }
    await mustCountRight(world)
    await runners.close()
  },
  BUILDS,
)

onBothEngines(
  'a list of links that is too long for a report ends the build, without a retry',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const { id } = await createSource(world)
    const runner = runners.of(await runners.take())
    const entries = Array.from({ length: 2100 }, (_, at) => link(`.vercel/output/static/${at}`, 'a/'.repeat(2048)))
    // The connection is closed before the body was read to its end.
    const finished = await runner
      .finish({ outcome: 'succeeded', builder: 'vercel@64.0.2', entries })
      .catch(() => undefined)
    assert.ok([undefined, 413].includes(finished?.status))
    const ended = await stateOf(world, id)
    assert.deepEqual([ended.readyState, ended.errorCode], ['ERROR', 'BUILD_OUTPUT_REFUSED'])
    assert.match(ended.errorMessage, /more than 8 MiB/)
    await runners.close()
  },
  BUILDS,
)
