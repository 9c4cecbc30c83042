/** Own urls that a sites server looks up. docs/deploying-sites.md: Data of the sites server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BadSnapshot, type HostFacts } from '../../../src/delivery/protocol/snapshot.ts'
import { createOwnUrls, type OwnUrl } from '../../../src/sites/snapshot/own-urls.ts'
import { eventually } from '../../support/eventually.ts'
import { deployment, gone, name, project } from './lines.ts'

const VISITOR = '203.0.113.7'
const facts = (id: string, more: Parameters<typeof project>[1] = {}): HostFacts => ({
  protocol: 1,
  version: 'aaaaaaaa.1.instance.1',
  deployment: deployment(id),
  project: project('p1', more),
})
const kindOf = (found: OwnUrl) => (typeof found === 'string' ? found : found.serving.kind)

/** Own urls over a control plane that knows `known`, with a clock that the test moves. */
function openTried(rules: { maxKept?: number; maxCharacters?: number; perSecond?: number; atOnce?: number } = {}) {
  const known = new Map<string, HostFacts>()
  const asked: string[] = []
  const state = {
    now: 0,
    isAway: false,
    isOld: false,
    hold: undefined as Promise<void> | undefined,
    fault: undefined as Error | undefined,
  }
  const urls = createOwnUrls({
    atOnce: 4,
    now: () => state.now,
    isOld: () => state.isOld,
    async ask(host) {
      asked.push(host)
      const answer = known.get(host)
      await state.hold
      if (state.isAway) throw new Error('away')
      if (state.fault) throw state.fault
      return answer
    },
    ...rules,
  })
  const find = async (host: string, address = VISITOR) => kindOf(await urls.find(host, address))
  return { urls, known, asked, state, find }
}

test('an url is looked up once for all who ask at the same time, and then kept', async () => {
  const { known, asked, find } = openTried()
  known.set('d1.test', facts('d1'))
  assert.deepEqual(await Promise.all(Array.from({ length: 50 }, () => find('d1.test'))), Array(50).fill('live'))
  assert.equal(await find('d1.test'), 'live')
  assert.deepEqual(asked, ['d1.test'])
})

test('that no deployment has an url is trusted for a second', async () => {
  const { known, asked, state, find } = openTried()
  assert.equal(await find('d1.test'), 'none')
  known.set('d1.test', facts('d1'))
  state.now = 999
  assert.equal(await find('d1.test'), 'none')
  state.now = 1001
  assert.equal(await find('d1.test'), 'live')
  assert.equal(asked.length, 2)
})

test('a line that names the deployment or its project drops the url, and no other', async () => {
  const { urls, known, asked, find } = openTried()
  known.set('d1.test', facts('d1'))
  await find('d1.test')
  urls.changed([name('d1', null, 'p1'), deployment('d2'), project('p2'), gone('name', 'd1')])
  await find('d1.test')
  assert.equal(asked.length, 1)
  for (const line of [project('p1'), deployment('d1'), gone('deployment', 'd1'), gone('project', 'p1')]) {
    const before: number = asked.length
    urls.changed([line])
    await find('d1.test')
    assert.equal(asked.length, before + 1, JSON.stringify(line))
  }
  known.delete('d1.test')
  urls.changed([gone('deployment', 'd1')])
  assert.equal(await find('d1.test'), 'none')
})

test('an answer that a change overtook, or of a control plane that is behind, is not kept', async () => {
  const { urls, known, asked, state, find } = openTried()
  known.set('d1.test', facts('d1'))
  for (const change of [() => urls.changed([project('p1')]), urls.suspect]) {
    const held = Promise.withResolvers<void>()
    state.hold = held.promise
    const before = asked.length
    const first = find('d1.test')
    await eventually(() => asked.length > before)
    change()
    state.hold = undefined
    held.resolve()
    assert.equal(await first, 'live')
    await find('d1.test')
    assert.equal(asked.length, before + 2)
    urls.changed([project('p1')])
  }
  state.isOld = true
  const before = asked.length
  for (let round = 0; round < 2; round++) await find('d1.test')
  assert.equal(asked.length, before + 2)
})

test('while the control plane is unavailable what is kept counts, also when it is old; nothing else is known, and no visitor waits for it', async () => {
  const { urls, known, asked, state, find } = openTried()
  known.set('d1.test', facts('d1'))
  await find('d1.test')
  state.isAway = true
  urls.suspect()
  assert.equal(await find('d1.test'), 'live')
  assert.equal(await find('d2.test'), 'unavailable')
  assert.equal(asked.length, 2, 'the second look-up failed, and none follows it at once')
  state.now = 1001
  assert.equal(await find('d2.test'), 'unavailable')
  assert.equal(asked.length, 3)
  state.isAway = false
  state.now = 2002
  known.set('d1.test', facts('d1', { paused: true, liveDeploymentId: 'd1' }))
  assert.equal(await find('d1.test'), 'paused', 'when old it is looked up again')
})

test('an answer about one url that cannot be read stops no look-up of others', async () => {
  const { known, state, find } = openTried()
  known.set('d2.test', facts('d2'))
  state.fault = new BadSnapshot('a line that is too long')
  assert.equal(await find('d1.test'), 'unavailable')
  state.fault = undefined
  assert.equal(await find('d2.test'), 'live')
})

test('an address causes so many look-ups in a second, and others do not notice', async () => {
  const { known, asked, state, find } = openTried({ perSecond: 5 })
  for (let at = 0; at < 5; at++) assert.equal(await find(`none-${at}.test`, '2001:db8::1'), 'none')
  assert.equal(await find('none-5.test', '2001:db8::2'), 'unavailable', 'of IPv6 the /64 counts')
  known.set('d1.test', facts('d1'))
  assert.equal(await find('d1.test', '2001:db8:0:1::1'), 'live')
  assert.equal(await find('d1.test', '2001:db8::1'), 'live', 'what is kept costs nothing')
  assert.equal(asked.length, 6)
  state.now = 1000
  assert.equal(await find('none-5.test', '2001:db8::2'), 'none')
})

test('so many are looked up at once, and so many are kept: the least recently used goes', async () => {
  const { urls, known, asked, state, find } = openTried({ maxKept: 3, atOnce: 2 })
  const held = Promise.withResolvers<void>()
  state.hold = held.promise
  for (const id of ['1', '2', '3', '4']) known.set(`d${id}.test`, facts(`d${id}`))
  const all = ['1', '2', '3', '4'].map((id) => find(`d${id}.test`))
  await eventually(() => asked.length === 2)
  state.hold = undefined
  held.resolve()
  assert.deepEqual(await Promise.all(all), Array(4).fill('live'))
  assert.deepEqual(
    [...urls.kept()].map(({ host }) => host),
    ['d2.test', 'd3.test', 'd4.test'],
  )
  await find('d2.test')
  await find('d1.test')
  assert.deepEqual(
    [...urls.kept()].map(({ host }) => host),
    ['d4.test', 'd2.test', 'd1.test'],
  )
})

test('what is kept has a budget of characters too: the least recently used goes', async () => {
  const large = (id: string) => facts(id, { settings: { optionsPaths: ['/'.padEnd(5000, 'x')] } })
  const { urls, known, find } = openTried({ maxCharacters: 3.5 * JSON.stringify(large('d1')).length })
  const kept = () => [...urls.kept()].map(({ host }) => host)
  for (const id of ['d1', 'd2', 'd3', 'd4']) known.set(`${id}.test`, large(id))
  known.set('small.test', facts('small'))
  for (const host of ['small.test', 'd1.test', 'd2.test', 'd3.test']) await find(host)
  assert.deepEqual(kept(), ['small.test', 'd1.test', 'd2.test', 'd3.test'])
  await find('d4.test')
  assert.deepEqual(kept(), ['d2.test', 'd3.test', 'd4.test'])
  urls.changed([gone('deployment', 'd2')])
  for (const host of ['d1.test', 'small.test']) await find(host)
  assert.deepEqual(kept(), ['d3.test', 'd4.test', 'd1.test', 'small.test'], 'what is dropped is not counted')
})
