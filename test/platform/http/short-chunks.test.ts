/** Bodies in chunks of one byte are read as they were sent, and take about their bytes. src/platform/fairness/collected-bytes.ts. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createFrameReader, type Frame } from '../../../src/launcher/frames.ts'
import { createBodyBudget } from '../../../src/platform/fairness/body-budget.ts'
import { readAtMost } from '../../../src/platform/fairness/bounded-body.ts'
import { openSources } from '../../../src/sites/pictures/sources.ts'
import { CollectedAnswer } from '../../../src/sites/prerender/collect.ts'
import { createRenderBudget } from '../../../src/sites/prerender/render-budget.ts'

const MAX = 1_000_000

async function* streamed(chunks: Iterable<Buffer>): AsyncGenerator<Buffer> {
  yield* chunks
}

function noneElse(): Promise<never> {
  throw new Error('nothing else is asked')
}

/** TABLE what collects a body whose sender chooses the chunks. `size`: of the body. */
const COLLECTORS: Record<string, (chunks: Iterable<Buffer>, size: number) => Promise<Buffer | undefined>> = {
  'a request': (chunks) =>
    new Promise((resolve, reject) => {
      const stream = new PassThrough()
      createBodyBudget().read(stream, MAX, Number.NaN, (error, body) => (error ? reject(error) : resolve(body!)))
      for (const chunk of chunks) stream.emit('data', chunk)
      stream.emit('end')
    }),
  'an answer of another server': (chunks) => readAtMost(streamed(chunks), MAX),
  'a source of a picture': async (chunks) => {
    const [egress, cache] = [{ forward: noneElse }, { open: noneElse }]
    const sources = openSources({
      ...{ egress, cache },
      askSelf: (_, __, take) => take({ status: 200, headers: {}, body: streamed(chunks) }),
    })
    const request = { isSecure: false, host: 'site.example', path: '/a.png', headers: {} }
    return (await sources.get({ kind: 'self', request }, { account: 'team_1', asker: '1.2.3.4' })).bytes
  },
  'an answer of a function': async (chunks) => {
    const collected = new CollectedAnswer('team_1', createRenderBudget(4 * MAX, 2 * MAX))
    collected.writeHead(200, {})
    for (const chunk of chunks) if (!collected.write(chunk)) await once(collected, 'drain')
    await new Promise<void>((resolve) => collected.end(resolve))
    return collected.whole().body
  },
  'a request to the data cache': async (chunks, size) => {
    const reader = createFrameReader()
    const prefix = Buffer.alloc(8)
    prefix.writeUInt32BE(2, 0)
    prefix.writeUInt32BE(size, 4)
    let frame: Frame | 'bad' | undefined
    for (const piece of [prefix.subarray(0, 3), prefix.subarray(3), Buffer.from('{}')]) frame = reader.push(piece)
    for (const chunk of chunks) frame = reader.push(chunk)
    return typeof frame === 'object' ? frame.body : undefined
  },
}

test('chunks of every length are one body, in their order', async () => {
  const whole = Buffer.from(Array.from({ length: 60_000 }, (_, at) => at % 251))
  for (const lengths of [[1], [1, 1023, 1024, 1025], [20_000, 1, 16_384], [7, 1500], [1000, 1000, 40_000]]) {
    const chunks: Buffer[] = []
    for (let [at, n] = [0, 0]; at < whole.length; n++) {
      const length = lengths[n % lengths.length]!
      chunks.push(whole.subarray(at, at + length))
      at += length
    }
    for (const [what, collect] of Object.entries(COLLECTORS))
      assert.ok((await collect(chunks, whole.length))?.equals(whole), `${what}: ${lengths}`)
  }
})

/** Bytes that are in use. */
function used(): number {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc')
  collectGarbage()
  // The memory of buffers is freed by another thread, for which the next collection waits.
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const COUNT = 100_000

for (const [what, collect] of Object.entries(COLLECTORS))
  test(`${COUNT} chunks of one byte of ${what} take less than 2 MB`, async () => {
    let [before, after] = [0, Number.POSITIVE_INFINITY]
    const chunks = function* () {
      for (let at = 0; at < COUNT; at++) {
        if (at === 1000) before = used()
        // What another thread has not freed yet is not in use: the smallest figure counts.
        if (at >= COUNT - 20) after = Math.min(after, used())
        yield Buffer.from([at % 256])
      }
    }
    assert.equal((await collect(chunks(), COUNT))?.length, COUNT)
    assert.ok(after - before < 2e6, `${after - before} bytes`)
  })
