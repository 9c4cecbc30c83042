/** Mail servers with certificates as they are in use, such as Debian's Postfix with its own, get letters. docs/operations.md: Email. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../../../src/config.ts'
import { mailAdvice, openMailer, tryMailServer } from '../../../src/platform/adapters/mailer.ts'
import { noCertificates, openCertificates } from '../../support/servers/certificates.ts'
import { openSmtp } from '../../support/servers/smtp.ts'

const LOGIN = 'berth:hunter2'

/** TABLE of BERTH_SMTP_TLS at a host of another machine, and at this one: what may, must be encrypted, and whose certificate must be good. */
const RULES: [url: string, choice: string, may: boolean, must: boolean, verify: boolean][] = [
  ['smtp://mail.example.com', 'auto', true, false, false],
  ['smtp://127.0.0.1:25', 'auto', true, false, false],
  [`smtp://${LOGIN}@mail.example.com`, 'auto', true, true, true],
  [`smtp://${LOGIN}@localhost`, 'auto', true, false, false],
  [`smtp://${LOGIN}@127.0.0.1.example.com`, 'auto', true, true, true],
  ['smtps://mail.example.com', 'auto', true, true, true],
  ['smtps://localhost', 'auto', true, true, true],
  ['smtp://mail.example.com', 'verified', true, true, true],
  [`smtp://${LOGIN}@localhost`, 'verified', true, true, true],
  [`smtp://${LOGIN}@mail.example.com`, 'unverified', true, true, false],
  ['smtps://mail.example.com', 'unverified', true, true, false],
  ['smtp://mail.example.com', 'off', false, false, false],
  [`smtp://${LOGIN}@127.0.0.1`, 'off', false, false, false],
]

function settingsOf(BERTH_SMTP_URL: string, BERTH_SMTP_TLS = 'auto') {
  return readConfig({ BERTH_SMTP_URL, BERTH_SMTP_TLS, BERTH_MAIL_FROM: 'berth@example.com' }).mail
}

test('the table of encrypted and verified connections, by the host, the password and BERTH_SMTP_TLS', () => {
  for (const [url, choice, canEncrypt, mustEncrypt, mustVerify] of RULES)
    assert.deepEqual(settingsOf(url, choice).smtp!.tls, { canEncrypt, mustEncrypt, mustVerify }, `${url} ${choice}`)
  for (const url of ['smtps://localhost', `smtp://${LOGIN}@mail.example.com`])
    assert.throws(() => settingsOf(url, 'off'), /^Error: BERTH_SMTP_TLS must not be off where BERTH_SMTP_URL /)
})

test('a letter goes to a server with a certificate of its own, encrypted, and to one that has none', {
  skip: noCertificates,
}, async (t) => {
  const { certText: cert, keyText: key } = openCertificates(t).make('debian')
  const other = { certificate: { cert, key } }
  const servers = {
    own: await openSmtp(other),
    bare: await openSmtp(),
    withLogin: await openSmtp({ ...other, login: LOGIN }),
    smtps: await openSmtp({ ...other, secure: true }),
  }
  t.after(() => Promise.all(Object.values(servers).map((server) => server.close())))
  const at = (name: keyof typeof servers, scheme = 'smtp', login = '') =>
    `${scheme}://${login}127.0.0.1:${servers[name].port}`
  const post = (url: string, choice?: string) => {
    const letter = { id: 'mail_1', at: 0, recipient: 'ada@example.com', subject: 'Hello', text: 'You there.' }
    return openMailer(settingsOf(url, choice)).post(letter, new AbortController().signal)
  }
  const said = async (url: string, choice?: string) => {
    const fault = await tryMailServer(settingsOf(url, choice).smtp!).then(
      () => undefined,
      (error) => error,
    )
    return fault === undefined ? 'well' : mailAdvice(fault)
  }

  for (const [name, url, choice, encrypted] of [
    ['own', at('own'), 'auto', 1],
    ['own', at('own'), 'unverified', 2],
    ['own', at('own'), 'off', 2],
    ['bare', at('bare'), 'auto', 0],
    ['withLogin', at('withLogin', 'smtp', `${LOGIN}@`), 'auto', 1],
    ['smtps', at('smtps', 'smtps'), 'unverified', 1],
  ] as const) {
    assert.deepEqual(await post(url, choice), { end: 'sent' }, `${url} ${choice}`)
    assert.equal(servers[name].encrypted, encrypted, `${url} ${choice}`)
    assert.equal(await said(url, choice), 'well', `${url} ${choice}`)
  }

  const certificate = /certificate that is good for its name, or set BERTH_SMTP_TLS to unverified$/
  for (const [url, choice, advice] of [
    [at('own'), 'verified', certificate],
    [at('smtps', 'smtps'), 'auto', certificate],
    [at('bare'), 'unverified', certificate],
    [at('withLogin', 'smtp', 'berth:wrong@'), 'auto', /^check user and password of BERTH_SMTP_URL$/],
    ['smtp://127.0.0.1:1', 'auto', /^check host and port of BERTH_SMTP_URL/],
  ] as const) {
    assert.equal((await post(url, choice)).end, 'failed', `${url} ${choice}`)
    assert.match(await said(url, choice), advice, `${url} ${choice}`)
  }
  assert.equal(servers.own.received.length, 3)
})
