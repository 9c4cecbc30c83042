/** Senders that are slow, and many at once: how long a file may take, and who waits for whom. docs/limits.md: Uploads. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { atLeastSpeed, createTurns } from '../../../src/platform/fairness/file-turns.ts'
import { Refusal } from '../../../src/platform/refusals/refusal.ts'
import { eventually } from '../../support/eventually.ts'
import { onBothEngines } from '../../support/world.ts'
import { beginUpload, thereIs, upload } from './uploading.ts'

const SOON = { bytes: 1000, ms: 100 }
const NOBODY_LEAVES = new AbortController().signal

async function lengthOf(pieces: AsyncIterable<Buffer>, pauseMs = 0): Promise<number> {
  let length = 0
  for await (const piece of pieces) {
    length += piece.length
    // A disk of ours that takes long.
    if (pauseMs > 0) await sleep(pauseMs)
  }
  return length
}

async function* senderOf(sizes: readonly number[], isStuck = false) {
  for (const size of sizes) yield Buffer.alloc(size)
  if (isStuck) await new Promise(() => {})
}

function isTooSlow(error: unknown): boolean {
  return error instanceof Refusal && error.key === 'request_timeout' && /came too slowly/.test(error.message)
}

test('a sender below the minimum rate in a span of time is refused, regardless of the span before', async () => {
  await assert.rejects(lengthOf(atLeastSpeed(senderOf([], true), SOON)), isTooSlow)
  await assert.rejects(lengthOf(atLeastSpeed(senderOf([999], true), SOON)), isTooSlow)
  await assert.rejects(lengthOf(atLeastSpeed(senderOf([5000], true), SOON)), isTooSlow)
})

test('a small file may arrive at once, and delays of the server do not count against the sender', async () => {
  assert.equal(await lengthOf(atLeastSpeed(senderOf([]), SOON)), 0)
  assert.equal(await lengthOf(atLeastSpeed(senderOf([1, 2]), SOON)), 3)
  assert.equal(await lengthOf(atLeastSpeed(senderOf([1, 1, 1, 1]), SOON), 60), 4)
})

test('an owner has eight slots and never more than are free, the others wait, and a disconnected one waits no longer', async () => {
  const turns = createTurns('files')
  const running: string[] = []
  const open = (owner: string, gone = NOBODY_LEAVES) => {
    const end = Promise.withResolvers<void>()
    const ended = turns.inTurn(
      owner,
      () => {
        running.push(owner)
        return end.promise
      },
      gone,
    )
    return { end: end.resolve, ended }
  }
  const countOf = (owner: string) => running.filter((one) => one === owner).length
  const first = Array.from({ length: 10 }, () => open('a'))
  await eventually(() => countOf('a') === 8)
  const leaving = new AbortController()
  const left = open('a', leaving.signal)
  leaving.abort()
  await assert.rejects(left.ended, /upload was interrupted/)
  first[0]!.end()
  await eventually(() => countOf('a') === 9)
  for (let owner = 0; owner < 40; owner++) for (let at = 0; at < 8; at++) void open(`o${owner}`)
  await eventually(() => running.length > 100)
  assert.equal(countOf('o0'), 8)
  assert.ok(running.length - 1 <= 128, String(running.length))
  assert.ok(countOf('o20') < 8, 'who comes later has fewer')
  const waiting = Array.from({ length: 256 - 1 }, () => open('a').ended)
  await assert.rejects(open('a').ended, /256 files of this account wait already/)
  assert.equal(waiting.length, 255)
  const gone = new AbortController()
  gone.abort()
  await assert.rejects(open('b', gone.signal).ended, /upload was interrupted/)
})

onBothEngines(
  'stalled uploads hold slots of their own account only and get an error, and a slow upload has all the time it needs',
  async (world) => {
    const address = await world.listen()
    const { server } = world.app
    const { requestTimeout, headersTimeout } = server
    // What other requests have is over before the first span of a file is.
    Object.assign(server, { requestTimeout: 1000, headersTimeout: 1000 })
    const other = await world.user('other')
    const { token } = world.credentials
    const stalled = Array.from({ length: 8 }, () => beginUpload(address, token!, ['Content-Length: 100000']))
    for (const { socket } of stalled) socket.write('x')
    const isReading = async () => (await world.call.try('GET', '/v2/user')).status === 200
    await eventually(isReading)
    const waiting = upload(world.call, 'in its turn')
    const slow = beginUpload(address, other.token, ['Content-Length: 200'])
    for (let at = 0; at < 20; at++) {
      slow.socket.write('0123456789')
      // A sender that takes longer than other requests may.
      await sleep(200)
    }
    assert.match(await slow.answered, /^HTTP\/1\.1 200 /)
    assert.equal((await upload(other.call, 'at once')).status, 200)
    for (const { answered, socket } of stalled) {
      assert.match(
        await answered,
        /^HTTP\/1\.1 408 .*The file came too slowly: at least 80 KiB must come in 10 seconds/s,
      )
      await eventually(() => socket.destroyed)
    }
    assert.equal((await waiting).status, 200)
    slow.socket.destroy()
    Object.assign(server, { requestTimeout, headersTimeout })
    assert.equal((await thereIs(world)).files.length, 3)
  },
  {},
  ['sqlite'],
)
