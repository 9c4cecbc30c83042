/** Lines of functions wait for the control plane within bounds, with the facts of their request. docs/functions.md: Log. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLineBuffer, LOG_BOUNDS } from '../../../src/sites/logs/line-buffer.ts'

const REQUEST = { requestId: 'ber1::a-1-b', method: 'GET', host: 'site.example', path: '/api' }
const of = (deploymentId: string, account = 'team_1') => ({ deploymentId, account })
const said = (text: string, requestId = REQUEST.requestId) => ({ level: 'info', text, requestId }) as const

test('a line has the facts of its request, and its status once that is known', () => {
  const buffer = createLineBuffer(LOG_BOUNDS, () => 1000)
  const end = buffer.begin(of('dpl_a'), REQUEST)
  buffer.add(of('dpl_a'), said('early'))
  const [early] = buffer.take(10, 10_000)
  assert.deepEqual(early, { deploymentId: 'dpl_a', date: 1000, level: 'info', text: 'early', ...REQUEST, status: 0 })
  buffer.add(of('dpl_a'), said('late'))
  end(201)
  assert.deepEqual(
    buffer.take(10, 10_000).map(({ text, status, path }) => [text, status, path]),
    [['late', 201, '/api']],
    'a request that wrote something has no line of its own',
  )
})

test('a line names the function that wrote it, a request that wrote nothing the one that it asked first', () => {
  const buffer = createLineBuffer()
  const by = (name: string) => ({ ...of('dpl_a'), bundle: { name } })
  const end = buffer.begin(by('middleware'), REQUEST)
  buffer.add(by('api'), said('one'))
  end(200)
  buffer.begin(by('x'.repeat(400)), REQUEST)(200)
  buffer.add(of('dpl_a'), said('of none'))
  assert.deepEqual(
    buffer.take(10, 10_000).map(({ functionName }) => functionName),
    ['api', 'x'.repeat(200), undefined],
  )
})

test('a request that wrote nothing is a line without text, an error from 500 on', () => {
  const buffer = createLineBuffer()
  buffer.begin(of('dpl_a'), REQUEST)(200)
  buffer.begin(of('dpl_a'), REQUEST)(504)
  assert.deepEqual(
    buffer.take(10, 10_000).map(({ level, text, status }) => [level, text, status]),
    [
      ['info', '', 200],
      ['error', '', 504],
    ],
  )
})

test('a forged id gives a line of another deployment no facts of the request', () => {
  const buffer = createLineBuffer()
  buffer.begin(of('dpl_a'), REQUEST)
  buffer.add(of('dpl_b'), said('forged'))
  assert.deepEqual(buffer.take(10, 10_000)[0]?.path, '')
})

test('above its bytes of a minute a deployment loses lines, which one line counts, and others lose none', () => {
  const clock = { now: 0 }
  const buffer = createLineBuffer({ minuteBytes: 100, heldBytes: 10_000, perLine: 10 }, () => clock.now)
  const masked: string[] = []
  const mask = (text: string) => {
    masked.push(text)
    return text.replaceAll('secret', '***')
  }
  for (let at = 0; at < 5; at++) buffer.add(of('dpl_a'), said(`a secret of ${at} and twenty more`), mask)
  buffer.add(of('dpl_b'), said('theirs'))
  const texts = () => buffer.take(10, 10_000).map(({ level, text }) => `${level} ${text}`)
  const kept = [0, 1].map((at) => `info a *** of ${at} and twenty more`)
  assert.deepEqual(texts(), [
    ...kept,
    'info theirs',
    'warning 3 lines were dropped here: a deployment may write 1 MiB in a minute, and an account 4 MiB until they are sent.',
  ])
  assert.equal(masked.length, 2, 'what is dropped is not masked')
  assert.deepEqual(texts(), [], 'they are counted once')
  buffer.add(of('dpl_a'), said('a secret of the same minute'))
  assert.deepEqual(
    texts().map((text) => text.slice(0, 24)),
    ['warning 1 lines were dro'],
    'the minute goes on after a report',
  )
  clock.now = 60_000
  buffer.add(of('dpl_a'), said('again'))
  assert.deepEqual(texts(), ['info again'])
})

test('while nothing is taken, lines are kept up to the bound of all', () => {
  const buffer = createLineBuffer({ minuteBytes: 10_000, heldBytes: 50, perLine: 10 })
  for (let at = 0; at < 9; at++) buffer.add(of(`dpl_${at}`, `team_${at}`), said('x'.repeat(10)))
  assert.deepEqual(buffer.take(1, 1).length, 1, 'at least one is taken, whatever its bytes')
  assert.deepEqual(
    buffer.take(100, 10_000).map(({ level }) => level),
    ['info', ...Array<string>(7).fill('warning')],
  )
})

test('the lines of an account are no more than are left free, however many deployments it has', () => {
  const buffer = createLineBuffer({ minuteBytes: 10_000, heldBytes: 100, perLine: 10 })
  const taken = () => buffer.take(100, 10_000).filter(({ level }) => level === 'info')
  for (let round = 0; round < 2; round++) {
    for (let at = 0; at < 9; at++) buffer.add(of(`dpl_${at}`), said('x'.repeat(10)))
    buffer.add(of('dpl_b', 'team_2'), said('y'.repeat(10)))
    assert.deepEqual(
      taken().map(({ deploymentId }) => deploymentId),
      ['dpl_0', 'dpl_1', 'dpl_2', 'dpl_b'],
    )
    taken()
  }
})
