/** What the settings of single sign-on may be. src/platform/settings/sign-in.ts; docs/single-sign-on.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BadSetting, readConfig } from '../../../src/config.ts'

const PROVIDER = {
  BERTH_OIDC_ISSUER: 'https://login.example.com',
  BERTH_OIDC_CLIENT_ID: 'berth',
  BERTH_OIDC_CLIENT_SECRET: 'a-secret',
}

function read(settings: Record<string, string>) {
  const { singleSignOn } = readConfig({ ...PROVIDER, ...settings })
  assert.ok(singleSignOn)
  return singleSignOn
}

function isRefused(settings: Record<string, string>, sentence: RegExp): void {
  assert.throws(
    () => readConfig({ ...PROVIDER, ...settings }),
    (error) => error instanceof BadSetting && sentence.test(error.message),
    JSON.stringify(settings),
  )
}

test('an issuer is an https URL, or an http URL of this machine, without query, fragment or credentials', () => {
  const good = ['https://login.example.com/tenant/1', 'http://localhost:8080', 'http://[::1]:80/a', 'http://127.9.9.9']
  for (const issuer of good) assert.equal(read({ BERTH_OIDC_ISSUER: issuer }).issuer, issuer)
  const bad = [
    ...['login.example.com', 'http://login.example.com', 'ftp://localhost', 'http://127.example.com', 'http://[::2]'],
    ...['http://10.127.0.1', 'https://a.example?b=c', 'https://a.example#b', 'https://'],
  ]
  for (const issuer of bad)
    isRefused({ BERTH_OIDC_ISSUER: issuer }, /^BERTH_OIDC_ISSUER must be an https URL without query, such as /)
  // It may be a password.
  isRefused({ BERTH_OIDC_ISSUER: 'https://a@b.example' }, /what is set is not shown here/)
})

test('a client id, its secret and the claim of groups are 1 to 512 visible ASCII characters', () => {
  const long = `!${'x'.repeat(510)}~`
  for (const name of ['BERTH_OIDC_CLIENT_ID', 'BERTH_OIDC_CLIENT_SECRET', 'BERTH_OIDC_GROUPS_CLAIM']) {
    read({ [name]: long })
    for (const text of [`${long}x`, 'a b', 'aä', 'äa'])
      isRefused({ [name]: text }, new RegExp(`^${name} must be 1 to 512 visible ASCII characters, without spaces$`))
  }
})

test('scopes have openid among them', () => {
  assert.equal(read({ BERTH_OIDC_SCOPE: 'openid' }).scope, 'openid')
  assert.equal(read({ BERTH_OIDC_SCOPE: 'email  openid groups' }).scope, 'email openid groups')
  for (const text of ['email', 'openidx', 'email,openid'])
    isRefused({ BERTH_OIDC_SCOPE: text }, /^BERTH_OIDC_SCOPE must be scopes .* with "openid" among them$/)
})

test('a group grants a role in a team or operator access, and its name may have an equals sign', () => {
  const { groups } = read({ BERTH_OIDC_GROUPS: 'ops=operator, cn=web=acme:VIEWER,a:b=operator' })
  assert.deepEqual(groups, [
    { group: 'ops', gives: 'operator' },
    { group: 'cn=web', gives: { team: 'acme', role: 'VIEWER' } },
    { group: 'a:b', gives: 'operator' },
  ])
  const bad = [
    ...['operator', '=operator', '=acme:OWNER', 'web', 'web=', 'web=acme', 'web=acme:', 'web=:OWNER', 'web=acme:KING'],
    ...['web=acme:OWNER:x', 'web=acme:owner', 'web=operators', 'web=operator=', 'x\nweb=operator'],
  ]
  for (const rule of bad)
    isRefused({ BERTH_OIDC_GROUPS: `ops=operator,${rule}` }, /^BERTH_OIDC_GROUPS must be like .*; "[^"]*" is not$/s)
})

test('passwords are off only where a provider signs users in, and a provider has an id and a secret', () => {
  assert.equal(readConfig({ ...PROVIDER, BERTH_PASSWORDS: 'off' }).passwords, false)
  assert.equal(readConfig({}).passwords, true)
  assert.throws(
    () => readConfig({ BERTH_PASSWORDS: 'off' }),
    /^Error: BERTH_OIDC_ISSUER must be set where BERTH_PASSWORDS is off/,
  )
  for (const name of ['BERTH_OIDC_CLIENT_ID', 'BERTH_OIDC_CLIENT_SECRET'])
    isRefused({ [name]: '' }, new RegExp(`^${name} must be set where BERTH_OIDC_ISSUER is$`))
})

test('a session lasts up to a year, and one of an operator that is not used up to 30 days', () => {
  const DAY_MS = 86_400_000
  for (const [days, hours] of [
    [1, 1],
    [365, 720],
  ] as const) {
    const { sessions } = readConfig({ BERTH_SESSION_DAYS: `${days}`, BERTH_OPERATOR_IDLE_HOURS: `${hours}` })
    assert.deepEqual(sessions, { lastMs: days * DAY_MS, operatorIdleMs: (hours * DAY_MS) / 24 })
  }
  for (const [name, max] of [
    ['BERTH_SESSION_DAYS', 365],
    ['BERTH_OPERATOR_IDLE_HOURS', 720],
  ] as const)
    for (const value of [0, max + 1])
      isRefused({ [name]: String(value) }, new RegExp(`^${name} must be a whole number from 1 to ${max}`))
})
