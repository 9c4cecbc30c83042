/** The cost of traces is bounded: few spans and causes, no request waits for the receiver, its refusals are logged. docs/operations.md: Traces. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Logger, pino } from 'pino'
import { openOtlp } from '../../../src/platform/tracing/otlp.ts'
import type { Traces } from '../../../src/platform/tracing/traces.ts'
import { eventually } from '../../support/eventually.ts'
import { attributeOf, type OtlpReceiver, startOtlpReceiver } from '../../support/servers/otlp-receiver.ts'

/** What waits at most (platform/tracing/provider.ts: QUEUE), and what is in flight at the same time: one batch. */
const [QUEUE, BATCH] = [2048, 256]
const CAUSES = 10_000

async function openWithReceiver(t: TestContext, log: Logger = pino({ level: 'silent' })) {
  const receiver = await startOtlpReceiver(t)
  const { endpoint } = receiver
  const traces = openOtlp({ receiver: { endpoint, headers: {} }, engine: 'sqlite', scheme: 'http', log })
  t.after(() => traces.close())
  return { receiver, traces }
}

/** A request that runs so much, and is answered. */
function answer(traces: Traces, operation: string, work = () => {}): void {
  const key = {}
  const request = { operation, method: 'GET', route: `/${operation}`, id: 'id', traceparent: undefined }
  traces.request(key, request, work)
  traces.answered(key, 200, undefined)
}

/** Answers as many requests as a batch has room for: a full batch is sent at once, and another one only after a while. */
function answerBatch(traces: Traces, operation: string): void {
  for (let at = 0; at < BATCH; at++) answer(traces, operation)
}

/** Waits until all is there that was kept. Spans come in their order, so a last one shows it; it is dropped as long as there is no room. */
async function allCame(traces: Traces, { spans }: OtlpReceiver): Promise<void> {
  await eventually(() => {
    answerBatch(traces, 'last')
    return spans.some(({ name }) => name === 'GET /last')
  })
}

test('while the receiver hangs no more spans are kept than the queue takes', async (t) => {
  const { receiver, traces } = await openWithReceiver(t)
  const free = receiver.hang()
  answerBatch(traces, 'early')
  await eventually(() => receiver.asked > 0)
  for (let at = 0; at < 3 * QUEUE; at++) answer(traces, 'late')
  free()
  await allCame(traces, receiver)
  const late = receiver.spans.filter(({ name }) => name === 'GET /late')
  assert.ok(late.length > 0 && late.length <= QUEUE + BATCH, `${late.length} spans`)
})

test('what caused a delivery is known of the newest 10,000', async (t) => {
  const { receiver, traces } = await openWithReceiver(t)
  answer(traces, 'cause', () => {
    for (let at = 0; at <= CAUSES; at++) traces.causes(`delivery-${at}`)
  })
  for (const at of [0, 1, CAUSES]) await traces.delivery(`delivery-${at}`, 'project.created', async () => 'delivered')
  await allCame(traces, receiver)
  const cause = receiver.spans.find(({ name }) => name === 'GET /cause')!
  const parents = receiver.spans.filter(({ name }) => name === 'delivery').map((span) => span.parentSpanId ?? '')
  assert.deepEqual(parents, ['', cause.spanId, cause.spanId])
})

test('work that outlives its request does not belong to it', async (t) => {
  const { receiver, traces } = await openWithReceiver(t)
  let later = () => {}
  answer(traces, 'short', () => {
    traces.statement('select 1 from "within"', performance.now())
    later = traces.bind(() => traces.statement('select 1 from "behind"', performance.now()))
  })
  later()
  traces.statement('select 1 from "nothing"', performance.now())
  await allCame(traces, receiver)
  const statements = receiver.spans.map(({ name }) => name).filter((name) => name.startsWith('select'))
  assert.deepEqual(statements, ['select within'])
})

test('a statement or a delivery that fails says so by a code, and not by a message', async (t) => {
  const { receiver, traces } = await openWithReceiver(t)
  const lost = Object.assign(new Error('Key (name)=(secret) already exists'), { code: '40001' })
  answer(traces, 'fails', () => {
    traces.statement(`insert into "project" values ('it''s secret', $1)`, performance.now(), lost)
    traces.statement('select 1 from "project"', performance.now(), new Error('a secret'))
  })
  await traces.delivery('delivery-1', 'project.created', async () => 'retried')
  await allCame(traces, receiver)
  const failed = receiver.spans.filter(({ status }) => status.code === 2)
  assert.deepEqual(
    failed.map((span) => [span.name, attributeOf(span, 'error.type')]),
    [
      ['insert project', '40001'],
      ['select project', 'error'],
      ['delivery', 'retried'],
    ],
  )
  assert.equal(attributeOf(failed[0]!, 'db.query.text'), 'insert into "project" values (?, $1)')
  assert.ok(!receiver.texts.join().includes('secret'))
})

test('the log says once that the receiver takes no spans, and once that it does again', async (t) => {
  const lines: { level: number; msg: string }[] = []
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const { receiver, traces } = await openWithReceiver(t, log)
  receiver.answerWith(400)
  await eventually(() => {
    answerBatch(traces, 'dropped')
    return receiver.asked > 2
  })
  receiver.answerWith(200)
  await allCame(traces, receiver)
  await eventually(() => lines.length > 1)
  assert.deepEqual(
    lines.map(({ level, msg }) => [level, msg]),
    [
      [40, 'the receiver of traces takes no spans; they are dropped'],
      [30, 'the receiver of traces takes spans again'],
    ],
  )
})
