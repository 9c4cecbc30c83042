/** The client of the data cache in a process of a function. docs/data-cache.md: Protocol. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openCacheClient } from '../../src/launcher/cache-client.ts'
import { createFrameReader, frameBytes } from '../../src/launcher/frames.ts'

/** Connections of the client. */
const CONNECTIONS = 8

test('what waits for a connection is asked on another one when all are closed, and one that is idle is used again', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-test-'))
  t.after(() => rmSync(folder, { recursive: true }))
  let connections = 0
  const server = createServer((socket) => {
    const isRefused = ++connections <= CONNECTIONS
    const reader = createFrameReader()
    socket
      .on('error', () => {})
      .on('data', (piece: Buffer) => {
        const frame = reader.push(piece)
        if (frame === undefined || frame === 'bad') return
        if (isRefused) return void socket.destroy()
        for (const bytes of frameBytes({ answered: frame.head.key })) socket.write(bytes)
      })
  }).listen(join(folder, 'cache'))
  t.after(() => server.close())
  await once(server, 'listening')
  const ask = openCacheClient(join(folder, 'cache'))
  const answers = await Promise.all(Array.from({ length: CONNECTIONS + 1 }, (_, key) => ask({ op: 'get', key })))
  assert.deepEqual(answers.slice(0, CONNECTIONS), Array(CONNECTIONS).fill(undefined))
  assert.deepEqual(answers[CONNECTIONS]?.head, { answered: CONNECTIONS })
  assert.equal(connections, CONNECTIONS + 1)
  assert.deepEqual((await ask({ op: 'get', key: 'more' }))?.head, { answered: 'more' })
  assert.equal(connections, CONNECTIONS + 1)
})
