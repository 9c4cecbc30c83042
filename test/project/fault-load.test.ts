/** The load of the fault runs, when a service responds unexpectedly. docs/faults.md. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { untilWritten } from '../faults/kill.ts'
import { openLedger } from '../faults/ledger.ts'
import { type Load, startLoad } from '../faults/load.ts'

test('an acknowledgement that contradicts the ledger is reported, and the load continues', {
  timeout: 300_000,
}, async (t) => {
  // The first variable of a batch was acknowledged before, and is created again: it was lost.
  const { load } = await startLoadOn(t, (request, body) => {
    if (!request.url?.endsWith('/env')) return { status: 200, body: {} }
    const created = [body].flat().map(({ key }) => ({ id: key, key }))
    return { status: 201, body: Array.isArray(body) ? { created, failed: [] } : { created: created[0] } }
  })
  const isTold = () => [...load.ends.keys()].find((end) => end.startsWith('of a batch'))
  while (isTold() === undefined) await untilWritten(load, load.acknowledgedSince() + 1)
  assert.match(isTold()!, /^of a batch, created: (Kv\d+) and (Kv\d+) and (Kv\d+); failed: ; wanted: \1 and \2; \3$/)
  load.stop()
  await load.ended
})

test('an unexpected response stops the load, and rejects for the caller that waits for it', {
  timeout: 300_000,
}, async (t) => {
  const { load, asked } = await startLoadOn(t, (request) => {
    // Right for a project that is created, and nothing that the creation of a variable answers.
    const status = request.url?.endsWith('/env') ? 201 : request.method === 'DELETE' ? 204 : 200
    return { status, body: { created: {} } }
  })
  // An unhandled rejection would end this process here.
  await assert.rejects(untilWritten(load, Number.POSITIVE_INFINITY), TypeError)
  await assert.rejects(load.ended, TypeError)
  const before = asked()
  // Long enough for a lane to ask, if one goes on.
  await sleep(50)
  assert.equal(asked(), before, 'every lane has stopped')
})

type Answer = { status: number; body: object }

/** Starts a load on a service that answers so. `body`: what it was sent, parsed. */
async function startLoadOn(
  t: TestContext,
  // biome-ignore lint/suspicious/noExplicitAny: whatever the load sends
  answer: (request: IncomingMessage, body: any) => Answer,
): Promise<{ load: Load; asked: () => number }> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-load-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'credentials.json'), '{"token":"t"}')
  let asked = 0
  const server = createServer(async (request, response) => {
    asked++
    const sent = await text(request)
    const { status, body } = answer(request, sent === '' ? undefined : JSON.parse(sent))
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(status === 204 ? '' : JSON.stringify(body))
  })
  t.after(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const load = startLoad({ folder, env: {} }, [`http://127.0.0.1:${port}`], openLedger(), { prefix: 'x' })
  return { load, asked: () => asked }
}
