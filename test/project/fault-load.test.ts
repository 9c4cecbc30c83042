/** The load of the faults: what it does when a service answers what nobody expects. docs/faults.md. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { untilWritten } from '../faults/kill.ts'
import { openLedger } from '../faults/ledger.ts'
import { startLoad } from '../faults/load.ts'

test('an answer that nobody expects stops the load, and is heard by whoever waits for it', {
  timeout: 300_000,
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-load-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'credentials.json'), '{"token":"t"}')
  let asked = 0
  const server = createServer((request, response) => {
    asked++
    request.resume()
    // Right for a project that is created, and nothing that the creation of a variable answers.
    const status = request.url?.endsWith('/env') ? 201 : request.method === 'DELETE' ? 204 : 200
    response.writeHead(status, { 'content-type': 'application/json' }).end(status === 204 ? '' : '{"created":{}}')
  })
  t.after(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const load = startLoad({ folder, env: {} }, [`http://127.0.0.1:${port}`], openLedger(), { prefix: 'x' })
  // A rejection that nobody had waited for would end this process here.
  await assert.rejects(untilWritten(load, Number.POSITIVE_INFINITY), TypeError)
  await assert.rejects(load.ended, TypeError)
  const before = asked
  // Long enough for a lane to ask, if one goes on.
  await sleep(50)
  assert.equal(asked, before, 'every lane has stopped')
})
