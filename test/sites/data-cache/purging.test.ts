/** Purges by functions on their way to the control plane. docs/data-cache.md: Purges. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { MAX_PURGE_TAGS, type PurgeReport } from '../../../src/delivery/protocol/purge-channel.ts'
import type { Pace } from '../../../src/platform/fairness/pace.ts'
import { createPurgePace, openPurging } from '../../../src/sites/data-cache/purging.ts'

const PURGER = { account: 'a', projectId: 'p1', environment: 'production' }

/** A control plane that takes reports one after another, or fails. */
async function open(t: TestContext, status = 200, pace: Pace = () => 0) {
  const reports: PurgeReport[] = []
  const server = createServer(async (request, response) => {
    reports.push((await json(request)) as PurgeReport)
    response.writeHead(status).end(JSON.stringify({ last: reports.length, gone: 0, stale: 0, tags: {} }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const learned: number[] = []
  const onPurges = (_: string, { last }: { last: number }) => void learned.push(last)
  const logged: { level: number; msg: string; project: string; err: { message: string } }[] = []
  const log = pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) })
  const purging = openPurging({ origin, token: 'x', log, onPurges, pauseMs: 1, pace })
  t.after(() => purging.close())
  return { purging, reports, learned, logged }
}

test('tags of one environment go together, in reports of at most 128, and none is lost', async (t) => {
  const { purging, reports, learned } = await open(t)
  const tags = Array.from({ length: 1000 }, (_, at) => `tag ${at}`)
  const sent = await Promise.all(tags.map((tag) => purging.purge(PURGER, 'gone', [tag])))
  assert.ok(sent.every(Boolean))
  assert.ok(reports.length <= 10, `${reports.length} reports`)
  assert.ok(reports.every((report) => report.tags.length <= MAX_PURGE_TAGS))
  assert.deepEqual(new Set(reports.flatMap((report) => report.tags)), new Set(tags))
  assert.deepEqual(
    learned,
    [...reports.keys()].map((at) => at + 1),
  )
})

test('kinds and environments do not mix', async (t) => {
  const { purging, reports } = await open(t)
  await Promise.all([
    purging.purge(PURGER, 'gone', ['a']),
    purging.purge(PURGER, 'stale', ['b']),
    purging.purge({ ...PURGER, environment: 'preview' }, 'gone', ['c']),
    purging.purge({ ...PURGER, account: 'b', projectId: 'p2' }, 'gone', ['d']),
  ])
  const seen = reports.map(({ projectId, environment, kind, tags }) =>
    [projectId, environment, kind, ...tags].join(' '),
  )
  assert.deepEqual(seen.sort(), [
    ...['p1 preview gone c', 'p1 production gone a', 'p1 production stale b', 'p2 production gone d'],
  ])
})

test('a purge that the control plane does not take is not one, and the log says of which project and why', async (t) => {
  const { purging, learned, logged } = await open(t, 503)
  assert.equal(await purging.purge(PURGER, 'gone', ['a']), false)
  assert.equal(await purging.purge({ ...PURGER, projectId: 'p2' }, 'gone', ['b']), false)
  assert.deepEqual(learned, [])
  assert.deepEqual(
    logged.map(({ level, msg, project, err }) => [level, msg, project, err.message.slice(0, 30)]),
    ['p1', 'p2'].map((id) => [40, 'a purge by a function could not be reported', id, 'the control plane answered 503']),
  )
})

test('an account has its reports in a second, over all of its projects, and waits for more; others do not', async (t) => {
  const pace = createPurgePace(() => 0)
  for (let report = 0; report < 20; report++) assert.equal(pace('a', 1), 0)
  assert.equal(pace('a', 1), 50)
  assert.equal(pace('b', 1), 0)

  // A clock that stands still: the second report of an account waits for as long as the test.
  const owed = new Map<string, number>()
  const waiting: Pace = (account, units) => {
    owed.set(account, (owed.get(account) ?? 0) + units)
    return owed.get(account)! > 1 ? 9_000 : 0
  }
  const { purging, reports } = await open(t, 200, waiting)
  assert.equal(await purging.purge(PURGER, 'gone', ['a']), true)
  const late = purging.purge({ ...PURGER, projectId: 'p3', environment: 'preview' }, 'gone', ['b'])
  assert.equal(await purging.purge({ ...PURGER, account: 'b', projectId: 'p2' }, 'gone', ['c']), true)
  assert.deepEqual(
    reports.map((report) => report.projectId),
    ['p1', 'p2'],
  )
  await purging.close()
  assert.equal(await late, false)
})

test('a report that would wait too long is refused, and does not count', async (t) => {
  let charged = 0
  const { purging, reports } = await open(t, 200, (account, units) => {
    charged += units
    return account === 'a' ? 10_001 : 0
  })
  assert.equal(await purging.purge(PURGER, 'gone', ['a']), false)
  assert.equal(charged, 0)
  assert.equal(await purging.purge({ ...PURGER, account: 'b' }, 'gone', ['a']), true)
  assert.equal(reports.length, 1)
})
