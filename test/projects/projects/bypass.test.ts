/** Bypass secrets in API responses, and the table of who is admitted. docs/spec/wire.md 2.2 and 6; docs/edge.md: Who sees bypass secrets, Who passes a protection. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AccessAttempt,
  type AccessDecision,
  decideAccess,
  type Protection,
  protectionOf,
} from '../../../src/platform/verdict/protection.ts'
import { type ApiResponse, onBothEngines } from '../../support/world.ts'

const PATH = '/v1/projects/web/protection-bypass'

function refused(answer: ApiResponse, status: number, code: string): void {
  assert.deepEqual([answer.status, answer.body?.error.code], [status, code], answer.text)
}

onBothEngines('secrets are generated, chosen, regenerated and revoked, and are response keys', async (world) => {
  const { call } = world
  await call('POST', '/v10/projects', { name: 'web' })
  assert.equal('protectionBypass' in (await call('GET', '/v9/projects/web')).body, false)
  const made = await call('PATCH', PATH, {})
  assert.deepEqual([made.status, made.headers['cache-control']], [200, 'no-store'])
  const [first, shown] = Object.entries(made.body.protectionBypass)[0]!
  assert.match(first, /^[A-Za-z0-9]{32}$/)
  assert.deepEqual(shown, {
    createdAt: shown.createdAt,
    createdBy: world.credentials.userId,
    scope: 'automation-bypass',
    ...{ integrationId: '', configurationId: '' },
  })
  const own = 'A1'.repeat(16)
  const two = await call('PATCH', PATH, { generate: { secret: own } })
  assert.deepEqual(Object.keys(two.body.protectionBypass).sort(), [first, own].sort())
  refused(await call.try('PATCH', PATH, { generate: { secret: own } }), 409, 'conflict')
  assert.deepEqual((await call('GET', '/v9/projects/web')).body.protectionBypass, two.body.protectionBypass)
  assert.deepEqual((await call('GET', '/v9/projects')).body.projects[0].protectionBypass, two.body.protectionBypass)

  const again = await call('PATCH', PATH, { revoke: { secret: first, regenerate: true } })
  const kept = Object.keys(again.body.protectionBypass)
  assert.deepEqual([kept.length, kept.includes(first), kept.includes(own)], [2, false, true])
  refused(await call.try('PATCH', PATH, { revoke: { secret: first, regenerate: false } }), 404, 'not_found')
  for (const secret of kept) await call('PATCH', PATH, { revoke: { secret, regenerate: false } })
  assert.equal('protectionBypass' in (await call('GET', '/v9/projects/web')).body, false)

  for (const secret of ['short', `${'a'.repeat(31)}-`, 'a'.repeat(33), '', null]) {
    refused(await call.try('PATCH', PATH, { generate: { secret } }), 400, 'bad_request')
  }
  for (let at = 0; at < 20; at++) assert.equal((await call('PATCH', PATH, { generate: {} })).status, 200)
  refused(await call.try('PATCH', PATH, { generate: {} }), 400, 'bad_request')
})

onBothEngines('a secret keeps its note, and one at most is the variable of deployments', async ({ call }) => {
  await call('POST', '/v10/projects', { name: 'web' })
  const [one, two] = ['A1'.repeat(16), 'B2'.repeat(16)]
  const told = async (body: object) => {
    const { status, body: said, text } = await call('PATCH', PATH, body)
    assert.equal(status, 200, text)
    const entries = Object.entries<{ note?: string; isEnvVar?: boolean }>(said.protectionBypass)
    return Object.fromEntries(entries.map(([secret, { note, isEnvVar }]) => [secret, [note, isEnvVar]]))
  }
  assert.deepEqual(await told({ generate: { secret: one, note: 'e2e' } }), { [one]: ['e2e', undefined] })
  await told({ generate: { secret: two } })
  assert.deepEqual(await told({ update: { secret: one, isEnvVar: true } }), {
    [one]: ['e2e', true],
    [two]: [undefined, false],
  })
  assert.deepEqual(await told({ update: { secret: two, isEnvVar: true, note: 'n' } }), {
    [one]: ['e2e', false],
    [two]: ['n', true],
  })
  const { [one]: other, ...chosen } = await told({ revoke: { secret: two, regenerate: true } })
  assert.deepEqual([other, Object.values(chosen)], [['e2e', false], [['n', true]]], 'the new one is chosen')
  const [three = ''] = Object.keys(chosen)
  assert.deepEqual(await told({ update: { secret: three, isEnvVar: false } }), {
    [one]: ['e2e', false],
    [three]: ['n', false],
  })
  assert.deepEqual((await call('GET', '/v9/projects/web')).body.protectionBypass[one]!.note, 'e2e')
  const regenerated = Object.values(await told({ revoke: { secret: one, regenerate: true } }))
  assert.ok(regenerated.some(([note]) => note === 'e2e'))
  refused(await call.try('PATCH', PATH, { update: { secret: one, note: 'x' } }), 404, 'not_found')
  refused(await call.try('PATCH', PATH, { generate: { note: 'n'.repeat(101) } }), 400, 'bad_request')
})

onBothEngines('ten concurrently created secrets are all stored', async ({ call }) => {
  await call('POST', '/v10/projects', { name: 'web' })
  const made = await Promise.all(Array.from({ length: 10 }, () => call.try('PATCH', PATH, { generate: {} })))
  for (const answer of made) assert.equal(answer.status, 200, answer.text)
  assert.equal(Object.keys((await call('GET', '/v9/projects/web')).body.protectionBypass).length, 10)
})

onBothEngines(
  'a caller who can only read a project does not see its secrets, and the store does not hold them',
  async (world) => {
    const { teamId } = world.credentials
    await world.call('POST', `/v10/projects?teamId=${teamId}`, { name: 'web' })
    const made = await world.call('PATCH', `${PATH}?teamId=${teamId}`, { generate: {} })
    const [secret] = Object.keys(made.body.protectionBypass)
    for (const [role, sees] of Object.entries({ OWNER: true, MEMBER: true, DEVELOPER: true, VIEWER: false })) {
      const user = await world.user(role.toLowerCase())
      await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${user.id}`, { role })
      for (const path of ['/v9/projects/web', '/v9/projects']) {
        assert.equal(
          (await user.call('GET', `${path}?teamId=${teamId}`)).text.includes(secret!),
          sees,
          `${role} ${path}`,
        )
      }
      if (!sees) assert.equal((await user.call.try('PATCH', `${PATH}?teamId=${teamId}`, { generate: {} })).status, 403)
    }
    const { db } = world.deps
    const stored = [
      await db.read.selectFrom('project').selectAll().execute(),
      await db.read.selectFrom('audit').selectAll().execute(),
      await db.read.selectFrom('event').selectAll().execute(),
    ]
    assert.equal(JSON.stringify(stored).includes(secret!) || world.logged().includes(secret!), false)
  },
)

onBothEngines('a bypass secret moves with its project to another account, and still works there', async (world) => {
  await world.call('POST', '/v10/projects', { name: 'web' })
  const { protectionBypass } = (await world.call('PATCH', PATH, { generate: {} })).body
  const { code } = (await world.call('POST', '/projects/web/transfer-request')).body
  const taker = await world.user('taker')
  await taker.call('PUT', `/projects/transfer-request/${code}`)
  refused(await world.call.try('PATCH', PATH, { generate: {} }), 409, 'conflict')
  await world.operator('POST', '/operator/v1/timers/project-transfers/run', {})
  assert.deepEqual((await taker.call('GET', '/v9/projects/web')).body.protectionBypass, protectionBypass)
})

onBothEngines('the protection of a project is read from its settings', async (world) => {
  await world.operator('PATCH', `/operator/v1/accounts/${world.credentials.userId}`, { plan: 'enterprise' })
  await world.call('POST', '/v10/projects', { name: 'web' })
  const row = () => world.deps.db.read.selectFrom('project').selectAll().executeTakeFirstOrThrow()
  await world.call('PATCH', PATH, { generate: { secret: 'b'.repeat(32) } })
  assert.equal(protectionOf(await row()), undefined, 'a way past nothing guards nothing')
  const addresses = [{ value: '10.0.0.0/8' }, { value: '192.0.2.7', note: 'office' }]
  await world.call('PATCH', '/v9/projects/web', {
    passwordProtection: { deploymentType: 'preview', password: 'open sesame' },
    ssoProtection: { deploymentType: 'all' },
    trustedIps: { deploymentType: 'production', addresses, protectionMode: 'additional' },
  })
  const made = protectionOf(await row()) ?? assert.fail('nothing guards it')
  assert.match(made.password?.hash ?? '', /^\$argon2id\$/)
  assert.deepEqual([made.password?.covers, made.signIn?.covers], ['preview', 'all'])
  assert.deepEqual([made.trustedIps?.covers, made.trustedIps?.required], ['production', true])
  const visit = { kind: 'production', through: 'domain', ip: '10.1.2.3' } as const
  assert.equal(decideAccess(made, visit), 'sign-in')
  assert.equal(decideAccess(made, { ...visit, bypass: 'b'.repeat(32) }), 'admitted')
  await world.call('PATCH', '/v9/projects/web', { passwordProtection: null, ssoProtection: null, trustedIps: null })
  assert.equal(protectionOf(await row()), undefined)
})

const VISITS = {
  site: { kind: 'production', through: 'domain' },
  address: { kind: 'production', through: 'address' },
  url: { kind: 'production', through: 'url' },
  preview: { kind: 'preview', through: 'url' },
  branch: { kind: 'preview', through: 'domain' },
} as const
type VisitName = keyof typeof VISITS

function settings(said: object): Protection | undefined {
  return protectionOf({ settings_json: JSON.stringify(said), password_hash: '$argon2id$', bypass_json: null })
}

test('the deployments that each deployment type covers', () => {
  const covered: Record<string, VisitName[]> = {
    all: ['site', 'address', 'url', 'preview', 'branch'],
    production: ['site', 'address', 'url'],
    preview: ['preview', 'branch'],
    prod_deployment_urls_and_all_previews: ['url', 'preview', 'branch'],
    all_except_custom_domains: ['address', 'url', 'preview'],
  }
  for (const [deploymentType, asked] of Object.entries(covered)) {
    const trustedIps = { deploymentType, addresses: [{ value: '192.0.2.1' }], protectionMode: 'exclusive' }
    for (const [key, refusal] of [
      ['passwordProtection', 'password'],
      ['ssoProtection', 'sign-in'],
      ['trustedIps', 'trusted-ip'],
    ] as const) {
      const protection = settings({ [key]: key === 'trustedIps' ? trustedIps : { deploymentType } }) ?? assert.fail(key)
      for (const name of Object.keys(VISITS) as VisitName[]) {
        const verdict = decideAccess(protection, { ...VISITS[name], ip: '203.0.113.9' })
        assert.equal(verdict, asked.includes(name) ? refusal : 'admitted', `${key} ${deploymentType} ${name}`)
      }
    }
  }
})

test('how guards go together', () => {
  const ips = (protectionMode: string) => ({
    trustedIps: { deploymentType: 'all', addresses: [{ value: '10.0.0.0/8' }], protectionMode },
  })
  const password = { passwordProtection: { deploymentType: 'all' } }
  const signIn = { ssoProtection: { deploymentType: 'all' } }
  const [inside, outside] = ['10.255.0.1', '11.0.0.1']
  const table: [said: object, visit: Partial<AccessAttempt> & { ip: string }, verdict: AccessDecision][] = [
    [ips('exclusive'), { ip: inside }, 'admitted'],
    [ips('exclusive'), { ip: outside }, 'trusted-ip'],
    [ips('exclusive'), { ip: `::ffff:${inside}` }, 'admitted'],
    [ips('exclusive'), { ip: '2001:db8::1' }, 'trusted-ip'],
    [ips('exclusive'), { ip: 'nonsense' }, 'trusted-ip'],
    [ips('additional'), { ip: inside }, 'admitted'],
    [ips('additional'), { ip: outside }, 'trusted-ip'],
    [{ ...ips('exclusive'), ...password }, { ip: inside }, 'admitted'],
    [{ ...ips('exclusive'), ...password }, { ip: outside }, 'password'],
    [{ ...ips('exclusive'), ...password }, { ip: outside, knowsPassword: true }, 'admitted'],
    [{ ...ips('additional'), ...password }, { ip: inside }, 'password'],
    [{ ...ips('additional'), ...password }, { ip: inside, knowsPassword: true }, 'admitted'],
    [{ ...ips('additional'), ...password }, { ip: outside, knowsPassword: true }, 'trusted-ip'],
    [password, { ip: outside, knowsPassword: false }, 'password'],
    [signIn, { ip: outside, knowsPassword: true }, 'sign-in'],
    [signIn, { ip: outside, signedIn: true }, 'admitted'],
    [{ ...password, ...signIn }, { ip: outside }, 'password'],
    [{ ...password, ...signIn }, { ip: outside, signedIn: true }, 'admitted'],
    [{ ...password, ...signIn }, { ip: outside, knowsPassword: true }, 'admitted'],
    [{ ...ips('additional'), ...signIn }, { ip: outside, bypass: 'wrong' }, 'trusted-ip'],
  ]
  for (const [said, visit, verdict] of table) {
    const protection = settings(said) ?? assert.fail('nothing guards it')
    const seen = decideAccess(protection, { ...VISITS.site, ...visit })
    assert.equal(seen, verdict, JSON.stringify([said, visit]))
  }
})

test('addresses match to the bit', () => {
  const bits: [value: string, inside: string[], outside: string[]][] = [
    ['192.0.2.1', ['192.0.2.1'], ['192.0.2.2', '192.0.2.0']],
    ['192.0.2.1/32', ['192.0.2.1'], ['192.0.2.0']],
    ['192.0.2.130/25', ['192.0.2.128', '192.0.2.255'], ['192.0.2.127', '192.0.3.0']],
    ['0.0.0.0/0', ['1.2.3.4', '255.255.255.255'], ['::1', '']],
  ]
  for (const [value, inside, outside] of bits) {
    const trustedIps = { deploymentType: 'all', addresses: [{ value }], protectionMode: 'exclusive' }
    const { isTrusted } = settings({ trustedIps })?.trustedIps ?? assert.fail(value)
    for (const ip of inside) assert.equal(isTrusted(ip), true, `${value} ${ip}`)
    for (const ip of outside) assert.equal(isTrusted(ip), false, `${value} ${ip}`)
  }
})
