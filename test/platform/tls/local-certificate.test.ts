/** The certificate that Berth makes for a laptop. src/platform/tls/local-certificate.ts; docs/tls.md: Local use. */
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect as connectSecurely, createServer } from 'node:tls'
import { type LocalCertificate, localNames, openLocalCertificate } from '../../../src/platform/tls/local-certificate.ts'
import { newHome, startService } from '../../support/process.ts'

const NAMES = ['localhost', '127.0.0.1']
const DAY_MS = 86_400_000

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-certificate-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

const filesOf = (folder: string) => readdirSync(join(folder, 'tls')).map((name) => join(folder, 'tls', name))

test('it is made where loopback alone is listened on, without a certificate of the settings and for a name of this machine', () => {
  const of = (host: string, publicUrl?: string, tls?: { cert: string; key: string }) =>
    localNames({ host, publicUrl, tls })
  const usual = ['localhost', 'berth.localhost', '*.berth.localhost', '127.0.0.1', '::1']
  assert.deepEqual(of('127.0.0.1'), usual)
  assert.deepEqual(of('localhost'), usual)
  assert.deepEqual(of('127.0.0.9', 'http://me.localhost:3000'), [...usual, '127.0.0.9', 'me.localhost'])
  assert.deepEqual(of('::1', 'http://[::1]:3000'), usual)
  for (const host of ['0.0.0.0', '::', '192.168.1.2', 'berth.example.com']) assert.equal(of(host), undefined)
  // A proxy is in front.
  assert.equal(of('127.0.0.1', 'https://berth.example.com'), undefined)
  assert.equal(of('127.0.0.1', undefined, { cert: 'cert.pem', key: 'key.pem' }), undefined)
})

test('it is kept for its owner alone, and taken again; two instances over one folder have the same', async (t) => {
  const folder = newFolder(t)
  const [one, other] = await Promise.all([1, 2].map(() => openLocalCertificate({ dataDirectory: folder }, NAMES)()))
  assert.deepEqual(one!.cert, other!.cert)
  assert.deepEqual(
    filesOf(folder).map((file) => [file.split('/').at(-1), statSync(file).mode & 0o777]),
    [
      ['authority.pem', 0o600],
      ['localhost.pem', 0o600],
    ],
  )
  assert.equal(statSync(join(folder, 'tls')).mode & 0o777, 0o700)
  // The key of the authority is nowhere: there is one key, and it is the certificate's.
  const texts = filesOf(folder).map((file) => readFileSync(file, 'utf8'))
  assert.equal(texts.join('').match(/PRIVATE KEY-----\n/g)?.length, 2)
  assert.equal(texts[0], one!.authority)
  rmSync(join(folder, 'tls', 'authority.pem'))
  const later = await openLocalCertificate({ dataDirectory: folder }, NAMES)()
  assert.equal(later.cert, one!.cert)
  assert.equal(readFileSync(join(folder, 'tls', 'authority.pem'), 'utf8'), one!.authority)
})

test('a new one takes its place before it ends, for a name that it lacks, and when its file is spoiled', async (t) => {
  const folder = newFolder(t)
  const certificate = openLocalCertificate({ dataDirectory: folder }, NAMES)
  const first = await certificate()
  const file = join(folder, 'tls', 'localhost.pem')
  const wider = await openLocalCertificate({ dataDirectory: folder }, [...NAMES, 'me.localhost'])()
  assert.notEqual(wider.cert, first.cert)
  assert.ok(new X509Certificate(wider.cert).checkHost('me.localhost'))
  for (const text of [
    '',
    'no certificate',
    readFileSync(file, 'utf8').replace(/(?<=PRIVATE KEY-----\n)[\s\S]{40}/, ''),
  ]) {
    writeFileSync(file, text)
    const made = await openLocalCertificate({ dataDirectory: folder }, NAMES)()
    assert.ok(new X509Certificate(made.cert).checkHost('localhost'))
    assert.match(readFileSync(file, 'utf8'), /CERTIFICATE-----\n[\s\S]*PRIVATE KEY-----\n/)
  }
  const last = await openLocalCertificate({ dataDirectory: folder }, NAMES)()
  t.mock.timers.enable({ apis: ['Date'], now: last.validTo.getTime() - 31 * DAY_MS })
  const again = openLocalCertificate({ dataDirectory: folder }, NAMES)
  assert.equal((await again()).cert, last.cert)
  t.mock.timers.setTime(last.validTo.getTime() - 29 * DAY_MS)
  const renewed = await again()
  assert.ok(renewed.validTo.getTime() > last.validTo.getTime())
  assert.equal(readFileSync(join(folder, 'tls', 'authority.pem'), 'utf8'), renewed.authority)
})

test('trust in its authority is limited to names of this machine', async (t) => {
  const seen = async ({ cert, key, authority }: LocalCertificate, servername: string) => {
    const server = createServer({ cert, key }).listen(0, '127.0.0.1')
    t.after(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const socket = connectSecurely({ port, host: '127.0.0.1', ca: authority, servername })
    return once(socket, 'secureConnect').then(
      () => void socket.destroy(),
      (error: Error) => error.message,
    )
  }
  const made = (name: string) => openLocalCertificate({ dataDirectory: newFolder(t) }, [name])()
  assert.equal(await seen(await made('me.localhost'), 'me.localhost'), undefined)
  const foreign = await made('bank.example')
  assert.equal(await seen(foreign, 'bank.example'), 'permitted subtree violation')
})

test('the program speaks both on a laptop, says nothing of Strict-Transport-Security, and stops with both open', async (t) => {
  const home = await newHome(t, 'sqlite')
  const service = await startService(t, home)
  assert.match(service.address, /^http:\/\/127/)
  const { port } = new URL(service.address)
  assert.deepEqual(
    readdirSync(home.folder).filter((name) => name === 'tls'),
    [],
    'nothing is made before it is needed',
  )
  const first = connectSecurely({ port: Number(port), host: '127.0.0.1', rejectUnauthorized: false })
  await once(first, 'secureConnect')
  const ca = readFileSync(join(home.folder, 'tls', 'authority.pem'))
  const socket = connectSecurely({ port: Number(port), host: '127.0.0.1', ca })
  let text = ''
  socket.on('data', (bytes) => {
    text += bytes
  })
  socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await once(socket, 'data')
  assert.match(text, /^HTTP\/1\.1 200 OK\r\n/)
  assert.match(text, /x-request-id: /)
  assert.doesNotMatch(text, /strict-transport-security/)
  assert.equal((await fetch(`${service.address}/healthz`)).status, 200)
  const silent = connect(Number(port), '127.0.0.1')
  await once(silent, 'connect')
  for (const one of [first, socket, silent]) one.on('error', () => {})
  assert.equal(await service.kill('SIGTERM'), 0)
  assert.doesNotMatch(service.out() + service.err(), /did not end in time/)
})
