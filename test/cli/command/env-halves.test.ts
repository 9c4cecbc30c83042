/** Lines of a .env file that a service refuses because the variables exist. docs/variables.md. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { berth } from '../../support/clients/command.ts'

test('a refused slice is sent again in halves, one at a time, until each refused line is alone', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-halves-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const written: string[] = []
  let [open, mostOpen] = [0, 0]
  const server = createServer(async (request, response) => {
    mostOpen = Math.max(mostOpen, ++open)
    const body = await text(request)
    const keys: string[] = body.match(/^\w+(?==)/gm) ?? []
    const isDry = request.url!.includes('dryRun=true')
    const isTaken = !isDry && keys.includes('TAKEN')
    if (!isDry) written.push(keys.join(' '))
    response.writeHead(isTaken ? 403 : 200, { 'content-type': 'application/json' })
    const error = { code: 'ENV_ALREADY_EXISTS', message: 'it is there' }
    response.end(JSON.stringify(isTaken ? { error } : { plan: { created: keys, updated: [], unchanged: [] } }), () => {
      open--
    })
  }).listen(0, '127.0.0.1')
  t.after(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const file = join(folder, '.env')
  writeFileSync(file, 'A=1\nB=2\nTAKEN=3\nC=4\n')
  const { code, out, err } = await berth(['env', 'import', 'web', file, '--target', 'preview', '--json'], {
    BERTH_DATA: folder,
    BERTH_TOKEN: 'secret',
    PORT: `${(server.address() as AddressInfo).port}`,
  })
  const failed = [{ key: 'TAKEN', message: 'it is there' }]
  assert.deepEqual([code, JSON.parse(out)], [1, { added: 3, updated: 0, unchanged: 0, failed }], err)
  assert.match(err, /^berth: TAKEN: it is there$/m)
  assert.deepEqual(written, ['A B TAKEN C', 'A B', 'TAKEN C', 'TAKEN', 'C'])
  assert.equal(mostOpen, 1)
})
