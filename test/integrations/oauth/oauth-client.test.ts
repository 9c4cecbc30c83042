/** An OAuth client that knows nothing of Berth (npm oauth4webapi) finds it, exchanges, asks and revokes, over real HTTP. */
import assert from 'node:assert/strict'
import * as oauth from 'oauth4webapi'
import { onBothEngines } from '../../support/world.ts'
import {
  consentAndInstall,
  exchange,
  installWithChallenge,
  REDIRECT,
  seedIntegration,
} from '../../support/worlds/integration-world.ts'

const insecure = { [oauth.allowInsecureRequests]: true }

for (const [way, authenticate] of [
  ['in the form', oauth.ClientSecretPost],
  ['by HTTP Basic', oauth.ClientSecretBasic],
] as const) {
  onBothEngines(
    `a client that authenticates ${way} discovers, exchanges with PKCE, introspects and revokes`,
    async (world) => {
      const issuer = new URL(await world.listen())
      const app = await seedIntegration(world)
      const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure })
      const server = await oauth.processDiscoveryResponse(issuer, found)
      assert.equal(server.issuer, issuer.origin)
      assert.equal(server.authorization_response_iss_parameter_supported, true)
      assert.deepEqual(server.code_challenge_methods_supported, ['S256'])
      const client = { client_id: app.clientId }
      const proof = authenticate(app.clientSecret)
      const verifier = oauth.generateRandomCodeVerifier()
      const challenge = await oauth.calculatePKCECodeChallenge(verifier)
      const { code, installationId } = await installWithChallenge(world, app, challenge)

      const state = oauth.generateRandomState()
      const answer = new URL(
        `${REDIRECT}?${new URLSearchParams({ code, state, iss: server.issuer, configurationId: installationId })}`,
      )
      const parameters = oauth.validateAuthResponse(server, client, answer, state)
      const ask = (by: string) =>
        oauth.authorizationCodeGrantRequest(server, client, proof, parameters, REDIRECT, by, insecure)
      assert.equal((await ask(oauth.generateRandomCodeVerifier())).status, 400)
      const given = await oauth.processAuthorizationCodeResponse(server, client, await ask(verifier))
      assert.equal(given.installation_id, installationId)

      const projects = new URL(`/v9/projects?slug=team`, issuer)
      const use = () =>
        oauth.protectedResourceRequest(given.access_token, 'GET', projects, undefined, undefined, insecure)
      assert.equal((await use()).status, 200)
      const inspect = async () =>
        oauth.processIntrospectionResponse(
          server,
          client,
          await oauth.introspectionRequest(server, client, proof, given.access_token, insecure),
        )
      assert.equal((await inspect()).active, true)
      const revoked = await oauth.revocationRequest(server, client, proof, given.access_token, insecure)
      await oauth.processRevocationResponse(revoked)
      assert.equal((await inspect()).active, false)
      // The library reads the challenge of the answer, and throws it.
      await assert.rejects(use(), (error: oauth.WWWAuthenticateChallengeError) => {
        assert.deepEqual([error.status, error.cause[0]?.scheme], [401, 'bearer'])
        assert.equal(error.cause[0]?.parameters.error, 'invalid_token')
        return true
      })
    },
  )
}

onBothEngines(
  'the metadata document says where things are, as users reach the service',
  async (world) => {
    const { status, headers, text } = await world.as(undefined)('GET', '/.well-known/oauth-authorization-server')
    const body = JSON.parse(text)
    assert.equal(status, 200)
    assert.match(String(headers['content-type']), /^application\/json/)
    for (const [field, value] of Object.entries(body)) {
      if (/endpoint$|issuer|documentation/.test(field))
        assert.match(String(value), /^https:\/\/berth\.example\.com/, field)
    }
    for (const field of ['token_endpoint', 'introspection_endpoint', 'revocation_endpoint']) {
      const { pathname } = new URL(body[field])
      assert.equal((await world.as(undefined).try('POST', pathname, {})).body.error.code, 'invalid_request', field)
    }
    assert.equal((await world.as(undefined)('GET', new URL(body.service_documentation).pathname)).status, 200)
    assert.equal(body.scopes_supported.length, 22)
  },
  { BERTH_PUBLIC_URL: 'https://berth.example.com' },
)

onBothEngines('over ten sockets at once a code gives one token', async (world, t) => {
  const address = await world.listen()
  const app = await seedIntegration(world)
  let living = 0
  for (let at = 0; at < 20; at++) {
    const { code } = await consentAndInstall(world, app)
    const { clientId: client_id, clientSecret: client_secret } = app
    const body = new URLSearchParams({ client_id, client_secret, code, redirect_uri: REDIRECT })
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => fetch(`${address}/v2/oauth/access_token`, { method: 'POST', body })),
    )
    assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, ...Array(9).fill(400)])
    const { access_token } = (await answers.find((answer) => answer.ok)!.json()) as { access_token: string }
    const used = await world.as(access_token).try('GET', '/v9/projects?slug=team')
    living += Number(used.status === 200)
    assert.equal((await exchange(world, app, code)).status, 400)
    assert.equal((await world.as(access_token).try('GET', '/v9/projects?slug=team')).status, 401, 'replayed afterwards')
  }
  t.diagnostic(`${living} of 20 tokens outlived the race: a caller that arrives once a code was answered is a replay`)
})
