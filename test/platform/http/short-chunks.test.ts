/** A body in chunks of one byte is read as it was sent, and takes about its bytes. src/platform/fairness/body-budget.ts. */
import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { createBodyBudget } from '../../../src/platform/fairness/body-budget.ts'

const read = (chunks: Iterable<Buffer>) =>
  new Promise<Buffer>((resolve, reject) => {
    const stream = new PassThrough()
    createBodyBudget().read(stream, 1_000_000, Number.NaN, (error, body) => (error ? reject(error) : resolve(body!)))
    for (const chunk of chunks) stream.emit('data', chunk)
    stream.emit('end')
  })

test('chunks of every length are one body, in their order', async () => {
  const whole = Buffer.from(Array.from({ length: 60_000 }, (_, at) => at % 251))
  for (const lengths of [[1], [1, 1023, 1024, 1025], [20_000, 1, 16_384], [7, 1500], [1000, 1000, 40_000]]) {
    const chunks: Buffer[] = []
    for (let [at, n] = [0, 0]; at < whole.length; n++) {
      const length = lengths[n % lengths.length]!
      chunks.push(whole.subarray(at, at + length))
      at += length
    }
    assert.ok((await read(chunks)).equals(whole), String(lengths))
  }
})

test('half a million chunks of one byte take less than 40 MB, including uncollected garbage', async () => {
  const before = process.memoryUsage()
  let most = 0
  const chunks = function* () {
    for (let at = 0; at < 500_000; at++) {
      if (at % 100_000 === 99_999) {
        const { heapUsed, external } = process.memoryUsage()
        most = Math.max(most, heapUsed + external - before.heapUsed - before.external)
      }
      yield Buffer.from([at % 256])
    }
  }
  assert.equal((await read(chunks())).length, 500_000)
  assert.ok(most < 40e6, `${most} bytes`)
})
