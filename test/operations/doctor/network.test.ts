/** The address and the certificate in `berth doctor`, at the limits of what is an error, a warning or neither. docs/tls.md. */
import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { readConfig } from '../../../src/config.ts'
import { checkAddress, proxyFindings } from '../../../src/operations/doctor/network/address.ts'
import { checkCertificate } from '../../../src/operations/doctor/network/certificate.ts'
import { noCertificates, openCertificates } from '../../support/servers/certificates.ts'

type Settings = Record<string, string>
type Seen = [is: string, found: string][]

async function addressOf(settings: Settings): Promise<Seen> {
  return (await checkAddress(readConfig(settings))).map(({ is, found }) => [is, found])
}

test('an address of this machine needs no https, and one that is open to others does', async () => {
  for (const HOST of ['localhost', '127.0.0.1', '127.9.9.9', '::1', '[::1]'])
    assert.deepEqual(await addressOf({ HOST }), [['well', `only this machine (${HOST})`]])
  const open = ['0.0.0.0', '::', '10.127.0.1', '::1:2', 'x::1', '[::1]x', '1.localhost']
  for (const HOST of open) {
    const worry = `HOST=${HOST} is open to other machines, and tokens are sent to it unencrypted (http)`
    assert.deepEqual(await addressOf({ HOST }), [['worry', worry]])
    const url = 'https://127.0.0.1'
    assert.deepEqual(await addressOf({ HOST, BERTH_PUBLIC_URL: url }), [['well', url]])
    assert.deepEqual(await addressOf({ HOST, BERTH_PUBLIC_URL: 'http://127.0.0.1' }), [['worry', worry]])
    const tls = { BERTH_TLS_CERT: '/cert', BERTH_TLS_KEY: '/key' }
    assert.deepEqual(await addressOf({ HOST, ...tls }), [['well', `only this machine (${HOST})`]])
  }
})

test('a name that does not resolve is an error, and an address is not looked up', async () => {
  const name = { HOST: '127.0.0.1', BERTH_PUBLIC_URL: 'https://berth.invalid' }
  const found = 'berth.invalid of BERTH_PUBLIC_URL does not resolve here: links in emails and pages do not work'
  assert.deepEqual(await addressOf(name), [['wrong', found]])
  for (const url of ['https://localhost', 'https://[::1]', 'https://[2001:db8::1]', 'https://192.0.2.1'])
    assert.deepEqual(await addressOf({ HOST: '127.0.0.1', BERTH_PUBLIC_URL: url }), [['well', url]])
})

test('five proxies that are not trusted are reported', () => {
  const seen = Array.from({ length: 6 }, (_, at) => ({ address: `10.0.0.${at}`, requests: at + 1 }))
  const findings = proxyFindings(seen)
  assert.deepEqual([findings.length, proxyFindings([])], [5, []])
  const { is, found } = findings[0]!
  assert.equal(is, 'worry')
  assert.match(found, /^1 request over https came by 10\.0\.0\.0, which BERTH_TRUSTED_PROXIES does not name/)
  assert.match(findings[4]!.found, /^5 requests over https came by 10\.0\.0\.4,/)
})

/** Returns what is found of a certificate with this time in days from now. */
function openChecks(t: TestContext) {
  const { make } = openCertificates(t)
  let made = 0
  return async (times: { from?: number; until?: number }, settings: Settings = {}, mode = 0o640) => {
    const { cert, key } = make(`c${++made}`, times)
    chmodSync(key, mode)
    const tls = { HOST: 'localhost', BERTH_TLS_CERT: cert, BERTH_TLS_KEY: key }
    const findings = await checkCertificate(readConfig({ ...tls, ...settings }))
    const shown = (found: string) => found.replace(/^\S+\.(crt|key) /, '').replace(/\d{4}-\d\d-\d\d$/, 'DATE')
    return findings.map(({ is, found, advice }) => `${is}: ${shown(found)} (${advice})`)
  }
}

test('a certificate that ends within 14 days is a warning, and one that ended an error', {
  skip: noCertificates,
}, async (t) => {
  const check = openChecks(t)
  const renew = 'renew it: a running Berth loads the new files automatically'
  for (const [until, is, days] of [
    [14.5, 'well', 14],
    [13.5, 'worry', 13],
    [0.5, 'worry', 0],
  ] as const)
    assert.deepEqual(await check({ until }), [
      `${is}: is good for ${days} days, until DATE (${is === 'well' ? undefined : renew})`,
    ])
  assert.deepEqual(await check({ from: -9, until: -0.5 }), [`wrong: expired on DATE (${renew})`])
  const early = await check({ from: 0.5, until: 90 })
  assert.equal(early.length, 2)
  assert.match(early[1]!, /^wrong: is not good before \d{4}-.*Z \(undefined\)$/)
})

test('a certificate is for the name of the public URL, else of HOST', { skip: noCertificates }, async (t) => {
  const check = openChecks(t)
  const names = async (settings: Settings) => (await check({}, settings)).slice(1)
  const found = (name: string) => `it is not for ${name}, but for IP Address:127.0.0.1, DNS:localhost, DNS:berth.test`
  const advice = '(set BERTH_PUBLIC_URL to a name of the certificate, or get one for this name)'
  for (const host of ['berth.test', '127.0.0.1', 'localhost']) {
    assert.deepEqual(await names({ HOST: host }), [])
    assert.deepEqual(await names({ BERTH_PUBLIC_URL: `https://${host}` }), [])
  }
  for (const [url, name] of [
    ['https://other.test', 'other.test'],
    ['https://127.0.0.2', '127.0.0.2'],
    ['https://[::1]', '::1'],
  ] as const)
    assert.deepEqual(await names({ BERTH_PUBLIC_URL: url }), [`wrong: ${found(name)} ${advice}`])
  assert.deepEqual(await names({ HOST: '::1' }), [['worry', `${found('::1')} ${advice}`].join(': ')])
})

test('a key that all users can read is a warning', { skip: noCertificates }, async (t) => {
  const check = openChecks(t)
  const lines = async (mode: number) => (await check({}, {}, mode)).slice(1)
  for (const mode of [0o600, 0o640, 0o660]) assert.deepEqual(await lines(mode), [])
  for (const mode of [0o644, 0o602, 0o601])
    assert.match((await lines(mode)).join(), /^worry: can be read by all users \(chmod o= \S+\.key\)$/)
})

test('nothing is said of a certificate that is not set', async () => {
  assert.deepEqual(await checkCertificate(readConfig({})), [])
})
