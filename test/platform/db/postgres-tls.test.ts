/** TLS to PostgreSQL, as `sslmode` and `sslrootcert` of DATABASE_URL say: a relay speaks it before a real server. docs/operations.md: TLS to PostgreSQL. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createSecureContext, TLSSocket } from 'node:tls'
import { readConfig } from '../../../src/config.ts'
import { berthProcess } from '../../support/clients/command.ts'
import { type CertificateFiles, noCertificates, openCertificates } from '../../support/servers/certificates.ts'
import { migratedDatabase } from '../../support/world.ts'

/** What a client sends to ask for TLS: PostgreSQL's SSLRequest. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** Returns a URL that reaches the server with TLS alone, or without. */
async function openTlsRelay(
  t: TestContext,
  target: URL,
  { certText: cert, keyText: key }: CertificateFiles,
): Promise<URL> {
  const secureContext = createSecureContext({ cert, key })
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    sockets.add(client)
    client.on('error', () => {})
    client.once('data', (first: Buffer) => {
      if (!first.equals(SSL_REQUEST)) return void client.destroy()
      client.write('S')
      const secure = new TLSSocket(client, { isServer: true, secureContext })
      const upstream = connect(Number(target.port), target.hostname)
      for (const socket of [secure, upstream]) {
        sockets.add(socket)
        socket.on('error', () => {})
      }
      secure.pipe(upstream).pipe(secure)
      secure.on('close', () => upstream.destroy())
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as { port: number }).port)
  return url
}

test('each sslmode encrypts and verifies as the page says, with the roots of the runtime, and the driver warns of none [postgres]', {
  skip: noCertificates,
  timeout: 600_000,
}, async (t) => {
  const certificates = openCertificates(t)
  const [own, other] = [certificates.make('server'), certificates.make('other')]
  const relay = await openTlsRelay(t, new URL(await migratedDatabase()), own)
  const migrate = async (options: string, roots?: CertificateFiles) => {
    const env = { DATABASE_URL: `${relay.href}?${options}`, ...(roots && { NODE_EXTRA_CA_CERTS: roots.cert }) }
    const { code, err } = await berthProcess(['migrate'], env)
    assert.doesNotMatch(err, /warning/i, options)
    return code === 0 ? 'well' : err
  }
  const rejected = /self-signed certificate|unable to verify/
  // One run of the program each: together on a machine of several cores.
  const said = await Promise.all(
    (
      [
        ['sslmode=require', own, 'well'],
        ['sslmode=prefer', undefined, rejected],
        ['sslmode=verify-full&sslrootcert=system', own, 'well'],
        ['sslrootcert=system', own, 'well'],
        ['sslrootcert=system', other, rejected],
        [`sslmode=verify-ca&sslrootcert=${own.cert}`, undefined, 'well'],
        [`sslmode=require&sslrootcert=${other.cert}`, undefined, rejected],
        ['sslmode=no-verify', undefined, 'well'],
        ['sslmode=disable', own, /Connection terminated|ECONNRESET/],
      ] as const
    ).map(async ([options, roots, expected]) => [options, await migrate(options, roots), expected] as const),
  )
  for (const [options, was, expected] of said)
    if (expected === 'well') assert.equal(was, 'well', options)
    else assert.match(was, expected, options)
})

test('an unknown sslmode is refused with the known ones, and the other parameters of the URL stay', () => {
  const of = (options: string) => {
    const { database } = readConfig({ DATABASE_URL: `postgres://u:p@db/berth${options}` })
    return database.engine === 'postgres' ? new URL(database.url).search : ''
  }
  for (const mode of ['requir', 'VERIFY-FULL', '', 'true'])
    assert.throws(
      () => of(`?sslmode=${mode}`),
      /^Error: DATABASE_URL must have an sslmode of disable, no-verify, allow, prefer, require, verify-ca, verify-full, or none$/,
    )
  for (const [given, read] of [
    ['', ''],
    ['?application_name=x', '?application_name=x'],
    ['?sslmode=require', '?sslmode=verify-full'],
    ['?sslmode=verify-full&connect_timeout=3', '?sslmode=verify-full&connect_timeout=3'],
    ['?sslrootcert=system', '?sslmode=verify-full'],
    ['?sslmode=disable&sslrootcert=system', '?sslmode=disable'],
    ['?sslmode=require&uselibpqcompat=true', '?sslmode=require&uselibpqcompat=true'],
    ['?options=-c%20search_path%3Dberth&sslmode=no-verify', '?options=-c%20search_path%3Dberth&sslmode=no-verify'],
  ] as const)
    assert.equal(of(given), read, given)
})
