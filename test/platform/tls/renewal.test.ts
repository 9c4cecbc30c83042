/** A certificate that is renewed, and handshakes that never end, within one process. src/platform/tls/tls.ts; docs/tls.md. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import type { Deps } from '../../../src/context.ts'
import { isTlsError, readPair, secureOptions, watchCertificate } from '../../../src/platform/tls/tls.ts'
import { eventually } from '../../support/eventually.ts'
import { type CertificateFiles, noCertificates, openCertificates } from '../../support/servers/certificates.ts'

const about = { skip: noCertificates, timeout: 300_000 }

/** A server over the files `cert` and `key`, and what it logs. `put` writes other files in their place. */
async function openServer(t: TestContext, first: CertificateFiles, folder: string) {
  const settings = { cert: join(folder, 'cert'), key: join(folder, 'key') }
  const put = ({ certText, keyText }: Pick<CertificateFiles, 'certText' | 'keyText'>) => {
    writeFileSync(settings.cert, certText)
    writeFileSync(settings.key, keyText)
  }
  put(first)
  const pair = readPair(settings)
  const lines: string[] = []
  const fields: object[] = []
  const say = (...args: unknown[]) => {
    lines.push(String(args.at(-1)))
    if (args.length > 1) fields.push(args[0] as object)
  }
  const stop = new AbortController()
  // Longer than the test: a connection that ends here ends because of the limit.
  const server = createServer({ ...secureOptions(pair), handshakeTimeout: 120_000 })
  watchCertificate(
    server,
    { log: { info: say, warn: say } as unknown as Deps['log'], shutdownSignal: stop.signal },
    settings,
    pair,
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  t.after(() => server.close())
  return { server, port, lines, fields, stop, put }
}

test('TLS 1.2 is the oldest that is spoken, HTTP/1.1 is inside, and a handshake has 5 s', about, (t) => {
  const { make } = openCertificates(t)
  const { cert, key } = readPair(make('one'))
  assert.deepEqual(secureOptions({ cert, key }), {
    cert,
    key,
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: 5000,
  })
  for (const code of ['EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_TLS_HANDSHAKE_TIMEOUT'])
    assert.ok(isTlsError(Object.assign(new Error(), { code })), code)
  assert.equal(isTlsError(Object.assign(new Error(), { code: 'HPE_INVALID_METHOD' })), false)
})

test('a renewed certificate is loaded once, and what is wrong with one is logged once', about, async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { make, folder } = openCertificates(t)
  const { server, port, lines, fields, put } = await openServer(t, make('first', { until: 13.5 }), folder)
  const toldOf = () => ({
    validTo: readPair({ cert: join(folder, 'cert'), key: join(folder, 'key') }).leaf.validToDate,
  })
  assert.deepEqual(lines.splice(0), ['the certificate expires soon'])
  assert.deepEqual(fields.splice(0), [toldOf()])
  /** Checks the files, and returns what it logs: waits for `most` lines. */
  const look = async (most = 0) => {
    t.mock.timers.tick(2000)
    // Reads that start after those of the two files end after them.
    for (let at = 0; at < 4; at++) await Promise.all(['cert', 'key'].map((name) => readFile(join(folder, name))))
    await eventually(() => lines.length >= most)
    return lines.splice(0)
  }
  const second = make('second')
  assert.deepEqual(await look(), [])
  put(second)
  assert.deepEqual(await look(1), ['loaded the renewed certificate'])
  assert.deepEqual(await look(), [])
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  assert.equal(socket.getPeerCertificate().subject.CN, 'second')
  socket.destroy()
  const half = { ...second, certText: 'no certificate' }
  for (let n = 0; n < 2; n++) {
    put(half)
    assert.match(
      (await look(1)).join('\n'),
      /^keeping the current certificate: BERTH_TLS_CERT: .* holds no certificate in PEM/,
    )
    assert.deepEqual(await look(), [], 'logged once')
    put(second)
    assert.deepEqual(await look(), [])
  }
  put(make('old', { from: -9, until: -2 }))
  fields.splice(0)
  assert.deepEqual(await look(2), ['loaded the renewed certificate', 'the certificate has expired'])
  assert.deepEqual(fields, [toldOf(), toldOf()])
  server.close()
  await once(server, 'close')
  put(half)
  assert.deepEqual(await look(), [], 'a server that has ended looks no more')
})

test('of a thousand handshakes that never end the oldest is ended, and at a stop all of them', about, async (t) => {
  const { make, folder } = openCertificates(t)
  const { server, port, stop } = await openServer(t, make('one'), folder)
  const silent = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    t.after(() => socket.destroy())
    await Promise.all([once(socket, 'connect'), once(server, 'connection')])
    return socket.resume()
  }
  // Connections that have ended or have said hello do not count as handshakes.
  for (let n = 0; n < 3; n++) {
    const socket = await silent()
    socket.destroy()
    await once(socket, 'close')
  }
  const whole = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
  t.after(() => whole.destroy())
  await once(whole, 'secureConnect')
  const many: Socket[] = []
  for (let n = 0; n < 1000; n++) many.push(await silent())
  // Long enough for one to be ended, if one is too many.
  await sleep(100)
  assert.equal(many.filter(({ destroyed }) => destroyed).length, 0)
  many.push(await silent())
  await eventually(() => many[0]!.destroyed)
  assert.equal(many.filter(({ destroyed }) => destroyed).length, 1)
  stop.abort()
  await eventually(() => many.every(({ destroyed }) => destroyed))
  assert.equal(whole.destroyed, false)
})
