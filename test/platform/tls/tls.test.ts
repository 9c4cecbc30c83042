/** https on the API's own listener: start, renewal under load, handshakes, refusals. docs/tls.md. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { connect as connectPlain } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { launch, newHome, runUntilExit } from '../../support/process.ts'
import { root } from '../../support/root.ts'
import { type CertificateFiles, openCertificates } from '../../support/servers/certificates.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { about, ask, openSecure, shake } from './https-service.ts'

test('with a certificate the API speaks https, says so, and its pages and answers know it', about, async (t) => {
  const { service, home, settings, first, token } = await openSecure(t)
  assert.match(service.out(), /^berth listening on https:\/\/127\.0\.0\.1:\d+\n/)
  const curl = (...words: string[]) =>
    execFileSync('curl', ['-sS', '--cacert', first.cert, ...words], { encoding: 'utf8' })
  const { port } = new URL(service.address)
  const user = JSON.parse(curl('-H', `Authorization: Bearer ${token}`, `${service.address}/v2/user`))
  assert.equal(user.user.username, 'admin')
  assert.match(
    curl('-D', '-', '-o', '/dev/null', `https://localhost:${port}/sign-in`),
    /set-cookie: __Host-.*; Secure/i,
  )
  assert.throws(() => execFileSync('curl', ['-sS', `${service.address}/docs`], { stdio: 'pipe' }), /certificate/)
  const made = launch(t, home, { ...settings, PORT: port }, [
    process.execPath,
    join(root, 'bin', 'berth.mjs'),
    'audit',
    'verify',
  ])
  await once(made.child, 'close')
  assert.equal(made.child.exitCode, 0, made.err())
  assert.match(made.out(), /verified/)
})

test('Strict-Transport-Security is sent where BERTH_PUBLIC_URL is https', about, async (t) => {
  const told = await openSecure(t, { BERTH_PUBLIC_URL: 'https://berth.test' })
  const untold = await openSecure(t)
  for (const [{ service }, expected] of [
    [told, 'max-age=15552000'],
    [untold, undefined],
  ] as const) {
    const asked = request(`${service.address}/docs`, { rejectUnauthorized: false }).end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    answer.resume()
    assert.equal(answer.headers['strict-transport-security'], expected)
  }
})

test('TLS 1.2 and 1.3 are spoken and nothing older, and inside it HTTP/1.1', about, async (t) => {
  const { service } = await openSecure(t)
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const socket = await shake(service, { minVersion: version, maxVersion: version, ALPNProtocols: ['h2', 'http/1.1'] })
    assert.deepEqual([socket.getProtocol(), socket.alpnProtocol], [version, 'http/1.1'])
    socket.destroy()
  }
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }
  await assert.rejects(shake(service, old))
  await assert.rejects(shake(service, { ALPNProtocols: ['h2'] }))
  await ask(service)
})
test('bytes that are not TLS are cut off, and the service lives and stops (a bound on time)', about, async (t) => {
  const { service } = await openSecure(t)
  const { hostname, port } = new URL(service.address)
  for (const bytes of ['GET / HTTP/1.1\r\nHost: x\r\n\r\n', '\x16\x03\x01\x02\x00\x01\x00', '\0'.repeat(5000)]) {
    const socket = connectPlain(Number(port), hostname, () => socket.end(bytes))
    socket.on('error', () => {})
    socket.resume()
    await once(socket, 'close')
  }
  assert.equal(await ask(service), 200)
  const half = await shake(service)
  half.on('error', () => {})
  half.write('GET /docs HTTP/1.1\r\n')
  const silent = connectPlain(Number(port), hostname)
  silent.on('error', () => {})
  await once(silent, 'connect')
  half.destroy()
  const since = performance.now()
  assert.equal(await service.kill('SIGTERM'), 0)
  // A client that has not said hello delays no other.
  assertWithin(performance.now() - since, 4000)
})

test('files that cannot be used end the start with 78 and the name of the setting', about, async (t) => {
  const { make, folder } = openCertificates(t)
  const [one, other] = [make('one'), make('other')]
  const empty = join(folder, 'empty')
  writeFileSync(empty, '')
  const home = await newHome(t, 'sqlite')
  const wrong: [Record<string, string>, RegExp][] = [
    [{ BERTH_TLS_CERT: one.cert }, /^berth: BERTH_TLS_KEY must be set where BERTH_TLS_CERT is/],
    [{ BERTH_TLS_KEY: one.key }, /^berth: BERTH_TLS_CERT must be set where BERTH_TLS_KEY is/],
    [
      { BERTH_TLS_CERT: join(folder, 'none'), BERTH_TLS_KEY: one.key },
      /^berth: BERTH_TLS_CERT: \S+none is not there\n$/,
    ],
    [{ BERTH_TLS_CERT: one.cert, BERTH_TLS_KEY: folder }, /^berth: BERTH_TLS_KEY: \S+ is a folder: name a file\n$/],
    [{ BERTH_TLS_CERT: empty, BERTH_TLS_KEY: one.key }, /^berth: BERTH_TLS_CERT: .* holds no certificate/],
    [{ BERTH_TLS_CERT: one.key, BERTH_TLS_KEY: one.key }, /^berth: BERTH_TLS_CERT: .* holds no certificate/],
    [{ BERTH_TLS_CERT: one.cert, BERTH_TLS_KEY: one.cert }, /^berth: BERTH_TLS_KEY: .* holds no private key/],
    [
      { BERTH_TLS_CERT: one.cert, BERTH_TLS_KEY: other.key },
      /^berth: BERTH_TLS_KEY: .* is not the key of the certificate/,
    ],
    [
      { BERTH_TLS_CERT: one.cert, BERTH_TLS_KEY: one.key, BERTH_PUBLIC_URL: 'http://berth.test' },
      /^berth: BERTH_PUBLIC_URL must begin with https/,
    ],
  ]
  for (const [settings, said] of wrong) {
    const { code, err } = await runUntilExit(t, home, settings)
    assert.equal(code, 78, err)
    assert.match(err, said)
  }
})

test('doctor says how long the certificate is valid, and for which names', about, async (t) => {
  const { make } = openCertificates(t)
  const home = await newHome(t, 'sqlite')
  const doctor = async (made: CertificateFiles, env: Record<string, string> = {}) => {
    const words = [process.execPath, join(root, 'bin', 'berth.mjs'), 'doctor', '--json']
    const settings = { BERTH_TLS_CERT: made.cert, BERTH_TLS_KEY: made.key, BERTH_DNS_SERVERS: '127.0.0.1:1', ...env }
    const { child, out } = launch(t, home, settings, words)
    await once(child, 'close')
    const { findings } = JSON.parse(out()) as { findings: { about: string; is: string; found: string }[] }
    return findings.filter((finding) => finding.about === 'certificate').map(({ is, found }) => `${is}: ${found}`)
  }
  const good = make('good')
  assert.match((await doctor(good)).join('\n'), /^well: .* is good for (89|90) days, until \d{4}-\d\d-\d\d$/)
  assert.match((await doctor(make('soon', { until: 5 }))).join('\n'), /^worry: .* is good for [45] days/)
  assert.match((await doctor(make('old', { from: -9, until: -2 }))).join('\n'), /^wrong: .* expired on /)
  assert.match((await doctor(make('early', { from: 2 }))).join('\n'), /\nwrong: .* is not good before /)
  const foreign = await doctor(good, { BERTH_PUBLIC_URL: 'https://other.test' })
  assert.match(foreign.join('\n'), /\nwrong: it is not for other\.test, but for .*berth\.test/)
  assert.equal((await doctor(good, { BERTH_PUBLIC_URL: 'https://berth.test' })).length, 1)
  chmodSync(good.key, 0o644)
  assert.match((await doctor(good)).join('\n'), /\nworry: .* can be read by all users/)
})
