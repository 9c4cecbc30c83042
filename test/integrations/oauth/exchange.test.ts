/** Operation 21: every rule of the exchange, and the races. docs/spec/decisions.md: Integrations; docs/integrations.md: The exchange of codes. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { iterations } from '../../support/iterations.ts'
import { digest } from '../../support/stores/digest.ts'
import { type ApiResponse, onBothEngines, type World } from '../../support/world.ts'
import {
  consentAndInstall,
  exchange,
  formOf,
  installWithChallenge,
  REDIRECT,
  seedInstallation,
  seedIntegration,
} from '../../support/worlds/integration-world.ts'

const said = (answer: ApiResponse) => [answer.status, answer.body?.error?.code]
const USER = '/v9/projects?slug=team'

onBothEngines('a code gives the token of its installation, once, with no-store', async (world) => {
  const app = await seedIntegration(world)
  const { installationId, code } = await consentAndInstall(world, app)
  assert.match(code, /^[0-9A-Za-z]{24,}$/)
  const given = await exchange(world, app, code)
  assert.equal(given.status, 200, given.text)
  assert.equal(given.headers['cache-control'], 'no-store')
  const { access_token, scope, ...rest } = given.body
  assert.match(scope, /^read/)
  assert.match(access_token, /^berth_[0-9A-Za-z]{40}$/)
  const { userId, teamId } = world.credentials
  assert.deepEqual(rest, {
    token_type: 'Bearer',
    installation_id: installationId,
    user_id: userId,
    team_id: teamId,
  })
  assert.equal((await world.as(access_token)('GET', USER)).status, 200)
  const shown = await world.call('GET', `/v1/integrations/configuration/${installationId}?teamId=${teamId}`)
  assert.ok(shown.body.completedAt > 0)
})

onBothEngines('a personal installation has no team, and its token acts without one', async (world) => {
  const app = await seedIntegration(world)
  const { code } = await consentAndInstall(world, app, { teamId: undefined })
  const { body } = await exchange(world, app, code)
  assert.equal(body.team_id, null)
  assert.equal((await world.as(body.access_token)('GET', '/v9/projects')).status, 200)
})

onBothEngines('form, JSON, HTTP Basic, grant_type and any version are taken', async (world) => {
  const app = await seedIntegration(world)
  const code = async () => (await consentAndInstall(world, app)).code
  const post = world.as(undefined)
  const { clientId: client_id, clientSecret: client_secret } = app
  const json = { client_id, client_secret, code: await code(), redirect_uri: REDIRECT, unknown: [1] }
  assert.equal((await post('POST', '/v2/oauth/access_token', json)).status, 200)
  assert.equal((await exchange(world, app, await code(), { grant_type: 'authorization_code', more: 'x' })).status, 200)
  const basic = { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` }
  for (const path of ['/v2/oauth/access_token', '/oauth/access_token', '/v13/oauth/access_token/']) {
    const form = formOf({ code: await code(), redirect_uri: REDIRECT })
    const given = await post('POST', path, form, basic)
    assert.equal(given.status, 200, `${path} ${given.text}`)
  }
  const bearer = { authorization: 'Bearer nonsense' }
  const fields = { client_id, client_secret, code: await code(), redirect_uri: REDIRECT }
  assert.equal((await post('POST', '/v2/oauth/access_token', formOf(fields), bearer)).status, 200)
})

onBothEngines(
  'a parameter that is missing, given twice or of another grant is invalid_request, and nothing changes',
  async (world) => {
    const app = await seedIntegration(world)
    const { code } = await consentAndInstall(world, app)
    const { clientId: client_id, clientSecret: client_secret } = app
    const whole = { client_id, client_secret, code, redirect_uri: REDIRECT }
    const basic = { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` }
    const post = (body: unknown, headers = {}) =>
      world.as(undefined).try('POST', '/v2/oauth/access_token', body, headers)
    const before = await digest(world)
    for (const field of Object.keys(whole)) {
      const { [field as 'code']: _, ...rest } = whole
      for (const body of [formOf(rest), rest, formOf({ ...rest, [field]: '' }), { ...rest, [field]: 7 }]) {
        const answer = await post(body)
        assert.deepEqual(said(answer), [400, 'invalid_request'], field)
        assert.match(answer.body.error.message, new RegExp(field))
        assert.equal(answer.headers['cache-control'], 'no-store')
      }
      const twice = `${new URLSearchParams(whole)}&${field}=x`
      const answer = await post(new Blob([twice], { type: 'application/x-www-form-urlencoded' }))
      assert.deepEqual(said(answer), [400, 'invalid_request'], `${field} twice`)
    }
    for (const grant_type of ['refresh_token', 'client_credentials', 'AUTHORIZATION_CODE']) {
      assert.deepEqual(said(await post(formOf({ ...whole, grant_type }))), [400, 'invalid_request'])
    }
    assert.deepEqual(said(await post(formOf(whole), basic)), [400, 'invalid_request'], 'the secret in two places')
    const { client_secret: __, ...other } = { ...whole, client_id: 'oac_other' }
    assert.deepEqual(said(await post(formOf(other), basic)), [400, 'invalid_request'], 'two clients')
    assert.deepEqual(said(await post(new Blob(['%zz'], { type: 'application/x-www-form-urlencoded' }))), [
      400,
      'invalid_request',
    ])
    assert.deepEqual(said(await post(new Blob([''], { type: 'application/x-www-form-urlencoded' }))), [
      400,
      'invalid_request',
    ])
    assert.deepEqual(said(await post(new Blob(['x'], { type: 'text/plain' }))), [415, 'unsupported_media_type'])
    assert.equal(await digest(world), before)
    assert.equal((await post(formOf(whole))).status, 200)
  },
)

onBothEngines(
  'an unknown client and a wrong secret get the same answer, and a second secret overlaps the first',
  async (world) => {
    const app = await seedIntegration(world)
    const other = await seedIntegration(world, { slug: 'other' })
    const { code } = await consentAndInstall(world, app)
    const wrong = await exchange(world, app, code, { client_secret: `${app.clientSecret}x` })
    const unknown = await exchange(world, app, code, { client_id: 'oac_unknown' })
    const foreign = await exchange(world, app, code, { client_secret: other.clientSecret })
    assert.deepEqual(said(wrong), [401, 'invalid_client'])
    assert.equal(wrong.headers['www-authenticate'], 'Basic realm="berth"')
    assert.equal(wrong.headers['cache-control'], 'no-store')
    for (const answer of [unknown, foreign]) assert.deepEqual([answer.status, answer.text], [wrong.status, wrong.text])
    for (const text of ['x', `${app.clientId}`, `${app.clientId}:${app.clientSecret}x`, '%zz:%zz', ':']) {
      const headers = { authorization: `Basic ${btoa(text)}` }
      const answer = await world
        .as(undefined)
        .try('POST', '/v2/oauth/access_token', formOf({ code, redirect_uri: REDIRECT }), headers)
      assert.deepEqual(said(answer), [401, 'invalid_client'], text)
    }
    const secrets = `/operator/v1/integrations/${app.id}/secrets` as const
    const second = (await world.operator('POST', secrets)).body
    assert.equal((await exchange(world, app, code, { client_secret: second.clientSecret })).status, 200)
    assert.equal((await exchange(world, app, (await consentAndInstall(world, app)).code)).status, 200)
    assert.equal((await world.operator('DELETE', `${secrets}/${app.secretId}`)).status, 204)
    const third = (await consentAndInstall(world, app)).code
    assert.deepEqual(said(await exchange(world, app, third)), [401, 'invalid_client'])
    assert.equal((await exchange(world, app, third, { client_secret: second.clientSecret })).status, 200)
  },
)

onBothEngines(
  "a code that is unknown, another client's or for another redirect_uri is invalid_grant, and stays good",
  async (world) => {
    const app = await seedIntegration(world)
    const other = await seedIntegration(world, { slug: 'other' })
    const { code } = await consentAndInstall(world, app)
    const before = await digest(world)
    const refused = [
      await exchange(world, app, `${code}x`),
      await exchange(world, app, code.slice(0, -1)),
      await exchange(world, other, code),
      await exchange(world, app, code, { code_verifier: 'v'.repeat(43) }),
    ]
    for (const redirect_uri of [
      `${REDIRECT}/`,
      `${REDIRECT}?x=1`,
      REDIRECT.toUpperCase(),
      `${REDIRECT}#`,
      'https://evil.example.com',
    ]) {
      refused.push(await exchange(world, app, code, { redirect_uri }))
    }
    for (const answer of refused) assert.deepEqual(said(answer), [400, 'invalid_grant'])
    assert.equal(new Set(refused.map((answer) => answer.text)).size, 1)
    assert.equal(await digest(world), before)
    assert.equal((await exchange(world, app, code)).status, 200)
  },
)

onBothEngines('a code is good for 30 minutes and not longer', async (world) => {
  const app = await seedIntegration(world)
  const now = 1_900_000_000_000
  world.deps.clock.set(now)
  const [first, second] = [await consentAndInstall(world, app), await consentAndInstall(world, app)]
  world.deps.clock.set(now + 30 * 60_000 - 5000)
  assert.equal((await exchange(world, app, first.code)).status, 200)
  world.deps.clock.set(now + 30 * 60_000 + 1000)
  assert.deepEqual(said(await exchange(world, app, second.code)), [400, 'invalid_grant'])
})

onBothEngines(
  'a code that began with PKCE needs its verifier, and one that began without refuses a verifier',
  async (world) => {
    const app = await seedIntegration(world)
    const verifier = 'abcdefghijklmnopqrstuvwxyz0123456789-._~ABCDEFG'
    const codeChallenge = createHash('sha256').update(verifier).digest('base64url')
    const { code } = await installWithChallenge(world, app, codeChallenge)
    for (const more of [
      {},
      { code_verifier: codeChallenge },
      { code_verifier: `${verifier}x` },
      { code_verifier: '' },
    ]) {
      assert.deepEqual(
        said(await exchange(world, app, code, more as Record<string, string>)),
        [400, 'invalid_grant'],
        JSON.stringify(more),
      )
    }
    assert.equal((await exchange(world, app, code, { code_verifier: verifier })).status, 200)
  },
)

onBothEngines(
  'a replay ends the token that the code gave, and one without authentication ends nothing',
  async (world) => {
    const app = await seedIntegration(world)
    const other = await seedIntegration(world, { slug: 'other' })
    const { installationId, code } = await consentAndInstall(world, app)
    const call = world.as((await exchange(world, app, code)).body.access_token)
    const again = await seedInstallation(world, { app })
    assert.equal(again.installationId, installationId, 'a second install renews the same installation')
    const harmless = [
      await exchange(world, app, code, { client_secret: 'wrong' }),
      await exchange(world, other, code),
      await exchange(world, app, code, { redirect_uri: `${REDIRECT}/x` }),
    ]
    assert.deepEqual(harmless.map(said), [
      [401, 'invalid_client'],
      [400, 'invalid_grant'],
      [400, 'invalid_grant'],
    ])
    assert.equal((await call('GET', USER)).status, 200)
    const replayed = await exchange(world, app, code)
    assert.deepEqual(said(replayed), [400, 'invalid_grant'])
    const ended = await call.try('GET', USER)
    assert.deepEqual([...said(ended), ended.body.error.invalidToken], [401, 'forbidden', true])
    assert.equal((await again.call('GET', USER)).status, 200, 'the token of the other code lives')
    assert.deepEqual(said(await exchange(world, app, code)), [400, 'invalid_grant'])
    const { entries } = (await world.operator('GET', '/operator/v1/audit?limit=10')).body
    assert.ok(
      entries.some(
        (entry: { type: string; subjectId: string }) =>
          entry.type === 'endReplayedToken' && entry.subjectId === installationId,
      ),
    )
    assert.match(world.logged(), /a code was used again/)
  },
)

onBothEngines('a code of an installation that is disabled or removed gives nothing', async (world) => {
  const app = await seedIntegration(world)
  const owner = await world.user('owner')
  const member = `/operator/v1/teams/${world.credentials.teamId}/members/${owner.id}` as const
  await world.operator('PUT', member, { role: 'OWNER' })
  const { installationId, code } = await consentAndInstall(world, app, { userId: owner.id })
  await world.operator('PUT', member, { role: 'VIEWER' })
  const before = await digest(world)
  for (const wrong of [{ client_secret: 'x' }, { redirect_uri: 'https://other.example/' }, { code: `${code}x` }]) {
    const { status } = await exchange(world, app, code, wrong)
    assert.ok(
      status === 400 || status === 401,
      'only who may exchange the code learns that the installation is disabled',
    )
  }
  const disabled = [403, 'integration_configuration_disabled']
  assert.deepEqual(said(await exchange(world, app, code)), disabled)
  assert.deepEqual(said(await exchange(world, app, code)), disabled, 'the code stays unused')
  assert.deepEqual(await digest(world), before)
  // It stays disabled where its owner may act again.
  await world.operator('PUT', member, { role: 'OWNER' })
  assert.deepEqual(said(await exchange(world, app, code)), disabled)
  const renewed = await consentAndInstall(world, app)
  assert.equal(renewed.installationId, installationId)
  const { token } = { token: (await exchange(world, app, renewed.code)).body.access_token }
  assert.equal((await world.as(token)('GET', USER)).status, 200, 'a renewal enables it')
  const later = await consentAndInstall(world, app)
  assert.equal((await world.call('DELETE', `/v1/integrations/configuration/${installationId}?slug=team`)).status, 204)
  assert.deepEqual(said(await exchange(world, app, later.code)), [400, 'invalid_grant'])
  assert.equal((await world.as(token).try('GET', USER)).status, 401)
  const anew = await seedInstallation(world, { app })
  assert.notEqual(anew.installationId, installationId)
})

onBothEngines('introspection says what a token may, and revocation ends it: to its own client alone', async (world) => {
  const { app, token, installationId, call } = await seedInstallation(world, {
    scopes: ['read:user', 'read-write:project'],
  })
  const other = await seedIntegration(world, { slug: 'other' })
  const ask = <const P extends string>(path: P, by: typeof app, said: string) => {
    const fields = {
      client_id: by.clientId,
      client_secret: by.clientSecret,
      token: said,
      token_type_hint: 'access_token',
    }
    return world.as(undefined).try('POST', `/v2/oauth/${path}`, formOf(fields))
  }
  const { userId, teamId } = world.credentials
  const seen = (await ask('introspect', app, token)).body
  assert.ok(Math.abs(seen.iat * 1000 - Date.now()) < 60_000)
  assert.deepEqual(
    { ...seen, iat: 0 },
    {
      active: true,
      scope: 'read-write:project read:user',
      client_id: app.clientId,
      token_type: 'Bearer',
      iat: 0,
      iss: world.deps.origin(),
      sub: userId,
      installation_id: installationId,
      user_id: userId,
      team_id: teamId,
    },
  )
  for (const [by, text] of [
    [other, token],
    [app, 'berth_unknown'],
    [app, world.credentials.token],
    [app, world.credentials.operatorToken],
  ] as const) {
    assert.deepEqual((await ask('introspect', by, text)).body, { active: false })
    const revoked = await ask('revoke', by, text)
    assert.deepEqual([revoked.status, revoked.text], [200, ''])
  }
  assert.equal((await call('GET', USER)).status, 200)
  assert.equal((await world.call('GET', '/v2/user')).status, 200)
  for (const path of ['introspect', 'revoke']) {
    assert.deepEqual(said(await ask(path, { ...app, clientSecret: 'x' }, token)), [401, 'invalid_client'])
    assert.deepEqual(said(await ask(path, app, '')), [400, 'invalid_request'])
  }
  assert.equal((await ask('revoke', app, token)).status, 200)
  assert.equal((await call.try('GET', USER)).status, 401)
  assert.deepEqual((await ask('introspect', app, token)).body, { active: false })
  assert.equal((await ask('revoke', app, token)).status, 200, 'again')
})

const CODES = iterations(20, 200)

onBothEngines(
  `of ${CODES} codes, each exchanged by 10 callers at once, each gives one token that works`,
  async (world, t) => {
    const app = await seedIntegration(world)
    const codes = await makeCodes(world, app.id, CODES)
    const began = performance.now()
    const given = new Map<string, Awaited<ReturnType<typeof exchange>>[]>()
    // Some codes at a time, all ten callers of each at once: a request that waits two seconds for a connection gets 503.
    for (let at = 0; at < codes.length; at += 5) {
      const slice = codes.slice(at, at + 5)
      const callers = slice.flatMap((code) => Array.from({ length: 10 }, () => code))
      const answers = await Promise.all(callers.map((code) => exchange(world, app, code)))
      for (const code of slice)
        given.set(
          code,
          answers.filter((_, index) => callers[index] === code),
        )
    }
    t.diagnostic(`${CODES * 10} exchanges in ${Math.round(performance.now() - began)} ms`)
    const tokens = new Set<string>()
    for (const answers of given.values()) {
      assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, ...Array(9).fill(400)])
      for (const answer of answers) {
        if (answer.status === 200) tokens.add(answer.body.access_token)
        else assert.equal(answer.body.error.code, 'invalid_grant')
      }
    }
    assert.equal(tokens.size, CODES)
    const rows = await world.deps.db.read
      .selectFrom('token')
      .select('id')
      .where('configuration_id', 'is not', null)
      .execute()
    assert.equal(rows.length, CODES, 'losers of a race end nothing')
    for (const token of [...tokens].slice(0, 20)) assert.equal((await world.as(token)('GET', USER)).status, 200)
  },
)

/** Codes of one installation, as that many consents would leave them. */
async function makeCodes(world: World, id: string, count: number): Promise<string[]> {
  const codes: string[] = []
  for (let at = 0; at < count; at++) {
    codes.push((await consentAndInstall(world, { id } as Parameters<typeof consentAndInstall>[1])).code)
  }
  return codes
}
