/** Reports of usage reach a control plane that is unavailable, loses its answers, is older or refuses. docs/deploying-sites.md: Usage. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { readUsageReport, type UsageReport } from '../../../src/delivery/protocol/usage-report.ts'
import { CountedResponse } from '../../../src/sites/usage/counted-response.ts'
import { openUsage } from '../../../src/sites/usage/reports.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/servers/free-port.ts'

/** A server that takes reports, and answers each as configured. */
async function openTaker(port: number) {
  const got: UsageReport[] = []
  const taker = { got, answer: (response: ServerResponse) => void response.end('counted') }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request.setEncoding('utf8')) text += piece
    const report = readUsageReport(text)
    if ('sentence' in report) throw new Error(report.sentence)
    got.push(report)
    taker.answer(response)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return Object.assign(taker, { close })
}

/** Counts for a server at this port, every few milliseconds. `answer`: gives the deployment an answer that is counted. */
async function openCounting(t: TestContext, port: number, periodMs = 5) {
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const usage = openUsage(`http://127.0.0.1:${port}`, 'token', log, periodMs)
  const site = createServer({ ServerResponse: CountedResponse }, (request, response) => {
    usage.count(response, request.headers.host!)
    response.end('12345')
  })
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
  t.after(() => site.close())
  t.after(() => usage.close())
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  const answer = async (path = '/') => {
    await (await fetch(origin + path)).text()
  }
  return { usage, answer, told: () => lines.join('') }
}

const requestsOf = (reports: readonly UsageReport[]) =>
  reports.flatMap(({ usage }) => usage).reduce((sum, { requests }) => sum + requests, 0)

test('what is counted while the control plane is unavailable comes once it is back, and the problem is logged once', async (t) => {
  const port = await freePort()
  const { answer, told } = await openCounting(t, port)
  for (let at = 0; at < 5; at++) await answer()
  await eventually(() => told().includes('cannot report usage'))
  for (let at = 0; at < 5; at++) await answer()
  const taker = await openTaker(port)
  t.after(taker.close)
  await eventually(() => requestsOf(taker.got) === 10)
  assert.equal(told().split('cannot report usage').length, 2)
  const bytes = taker.got.flatMap(({ usage }) => usage).reduce((sum, line) => sum + line.bytes, 0)
  assert.equal(bytes, 50)
})

test('a report whose answer is lost, or that is refused for now, comes again as it was, before any other', async (t) => {
  const port = await freePort()
  const taker = await openTaker(port)
  t.after(taker.close)
  const troubles = [
    (response: ServerResponse) => void response.destroy(),
    (response: ServerResponse) => void response.writeHead(503).end(),
    (response: ServerResponse) => void response.writeHead(404).end('an older one'),
    (response: ServerResponse) => void response.writeHead(401).end(),
  ]
  taker.answer = (response) => (troubles.shift() ?? ((last: ServerResponse) => void last.end('counted')))(response)
  const { answer } = await openCounting(t, port)
  await answer()
  await eventually(() => taker.got.length >= 1)
  await answer()
  await eventually(() => taker.got.length >= 6)
  const [first, ...others] = taker.got
  for (const again of others.slice(0, 4)) assert.deepEqual(again, first)
  const last = taker.got.at(-1)!
  assert.deepEqual([last.server, last.sequence, requestsOf([last])], [first!.server, first!.sequence + 1, 1])
})

test('a report that is refused for good is given up, and the next one is sent', async (t) => {
  const port = await freePort()
  const taker = await openTaker(port)
  t.after(taker.close)
  taker.answer = (response) => void response.writeHead(400).end('no report')
  const { answer, told } = await openCounting(t, port)
  await answer()
  await eventually(() => told().includes('rejected a usage report'))
  taker.answer = (response) => void response.end('counted')
  await answer()
  await eventually(() => taker.got.length === 2)
  assert.deepEqual(
    taker.got.map(({ sequence }) => sequence),
    [1, 2],
  )
})

test('the rest is sent at the end, also what is counted while another report is on its way', async (t) => {
  const port = await freePort()
  const taker = await openTaker(port)
  t.after(taker.close)
  const held: ServerResponse[] = []
  taker.answer = (response) => void held.push(response)
  const { usage, answer } = await openCounting(t, port, 3_600_000)
  await answer()
  const sent = usage.send()
  await eventually(() => held.length === 1)
  await answer()
  taker.answer = (response) => void response.end('counted')
  const closed = usage.close()
  held[0]!.end('counted')
  await Promise.all([sent, closed])
  assert.deepEqual([taker.got.length, requestsOf(taker.got)], [2, 2])
})

test('an end comes where no server answers', async (t) => {
  const port = await freePort()
  const taker = await openTaker(port)
  t.after(taker.close)
  taker.answer = () => {}
  const { usage, answer } = await openCounting(t, port, 3_600_000)
  await answer()
  await usage.close()
  assert.equal(taker.got.length, 1)
})

test('responses of more deployments than are kept are not counted, which is logged once', async (t) => {
  const port = await freePort()
  const taker = await openTaker(port)
  t.after(taker.close)
  const { usage, told } = await openCounting(t, port, 3_600_000)
  const left = new CountedResponse(new IncomingMessage(new Socket()))
  left.destroy()
  // Those of a report that is on its way are not among the kept.
  for (let at = 0; at < 40_000; at++) usage.count(left, `dpl_${at}`)
  assert.equal(told().split('too many deployments').length, 2)
})
