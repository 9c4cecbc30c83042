/** Checks of visitors of protected sites that wait for the control plane. docs/deploying-sites.md: Protected hosts. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { pino } from 'pino'
import { openAdmission } from '../../../src/sites/visitors/admission.ts'
import { eventually } from '../../support/eventually.ts'

/** Half of the checks at once. */
const OF_ONE_NETWORK = 16

test('checks of one network leave others their turn, and one that waits too long is not made', async (t) => {
  const asked: unknown[] = []
  const server = createServer((request) => void asked.push(request.headers['x-forwarded-for']))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const admission = openAdmission(`http://127.0.0.1:${port}`, 'token', pino({ level: 'silent' }))
  t.after(() => admission.close())
  const check = (ip: string) =>
    admission.refuse({
      visitor: {
        host: 'site.example',
        port: '',
        scheme: 'https',
        uri: '/',
        ip,
        password: undefined,
        bypass: undefined,
      },
      request: { method: 'GET', host: 'site.example', path: '/', search: '', headers: new Map() },
      credentials: { authorization: undefined, bypass: undefined, session: undefined },
    })
  for (let at = 0; at < OF_ONE_NETWORK; at++) void check('203.0.113.1')
  const late = check('203.0.113.1')
  void check('198.51.100.1')
  const expected = [...Array(OF_ONE_NETWORK).fill('203.0.113.1'), '198.51.100.1']
  await eventually(() => asked.length === expected.length)
  assert.equal((await late)?.answer.status, 503)
  assert.deepEqual(asked.toSorted(), expected.toSorted())
})
