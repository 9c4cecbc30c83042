/** Single sign-on providers for tests: a real one (`oidc-provider`), and a fake with invalid responses. */
import assert from 'node:assert/strict'
import { createHash, createSign, generateKeyPairSync, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider, { type Configuration } from 'oidc-provider'
import { type Client, type PageResponse, pathOf } from '../clients/browser-client.ts'

export const PUBLIC_URL = 'http://localhost:3000'
const CLIENT = { id: 'berth', secret: 'a-secret-of-the-provider' }

/** The claims of a user at the provider. */
export type Claims = {
  email?: string
  email_verified?: boolean
  name?: string
  preferred_username?: string
  groups?: string[]
}

export type TestProvider = {
  /** The settings of Berth that sign users in with it. */
  settings: Record<string, string>
  /** Its users, by `sub`. Deleting one here removes the user at the provider. */
  people: Map<string, Claims>
  /** Paths that it answers with 503. */
  failing: Set<string>
  /** Goes to the provider as this user, and returns the address that the browser is sent back to. */
  visit(address: string, sub: string): Promise<string>
  /** For a real browser: the address of Berth, and the user that signs in next. */
  expect(origin: string, sub: string): void
  close(): Promise<void>
}

/** Starts a real provider. `offline: false` omits refresh tokens; `rotates` replaces one at each use, and reuse revokes all its successors. */
export async function startProvider({ offline = true, rotates = false } = {}): Promise<TestProvider> {
  const people = new Map<string, Claims>()
  const failing = new Set<string>()
  let visitor = ''
  let handle: RequestListener = () => {}
  const { server, address: issuer } = await listen((request, response) => handle(request, response))
  let origin = PUBLIC_URL
  let opened: { provider: Provider; callback: RequestListener } | undefined
  const open = () => {
    if (opened !== undefined) return opened
    const provider = new Provider(issuer, {
      ...configurationOf(people, offline, origin),
      ...(rotates && { rotateRefreshToken: true }),
    })
    opened = { provider, callback: provider.callback() }
    return opened
  }
  handle = (request, response) => {
    if (failing.has(request.url!)) return void response.writeHead(503).end()
    const { provider, callback } = open()
    if (!request.url!.startsWith('/interaction/')) return void callback(request, response)
    void (async () => {
      const { prompt, params } = await provider.interactionDetails(request, response)
      const result =
        prompt.name === 'login' ? { login: { accountId: visitor } } : { consent: { grantId: await grantTo(params) } }
      await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true })
    })()
  }
  const grantTo = async (params: Record<string, unknown>) => {
    const grant = new (open().provider.Grant)({ accountId: visitor, clientId: CLIENT.id })
    grant.addOIDCScope(String(params.scope))
    return grant.save()
  }
  return {
    settings: settingsFor(issuer),
    people,
    failing,
    async visit(address, sub) {
      visitor = sub
      return followUntilBack(address)
    },
    expect(address, sub) {
      origin = address
      visitor = sub
    },
    close: () => closeServer(server),
  }
}

function configurationOf(people: ReadonlyMap<string, Claims>, offline: boolean, origin: string): Configuration {
  return {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [`${origin}/sign-in/sso/callback`],
        grant_types: ['authorization_code', ...(offline ? ['refresh_token'] : [])],
      },
    ],
    findAccount: (_, sub) => {
      const claims = people.get(sub)
      return claims && { accountId: sub, claims: () => ({ sub, ...claims }) }
    },
    claims: { email: ['email', 'email_verified'], profile: ['name', 'preferred_username'], groups: ['groups'] },
    scopes: ['openid', 'groups', ...(offline ? ['offline_access'] : [])],
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    cookies: { keys: ['of tests'] },
    ttl: {
      AccessToken: 3600,
      IdToken: 3600,
      RefreshToken: 30 * 86_400,
      Interaction: 3600,
      Session: 86_400,
      Grant: 86_400,
    },
  }
}

/** Follows redirects with the cookies that they set, as a browser does, until one points to Berth. */
async function followUntilBack(address: string): Promise<string> {
  const cookies = new Map<string, string>()
  for (let at = address, steps = 0; steps < 20; steps++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(at, { redirect: 'manual', headers: { cookie } })
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    const location = answer.headers.get('location')
    assert.ok(location !== null, `${answer.status} ${await answer.text()}`)
    at = new URL(location, at).href
    if (at.startsWith(PUBLIC_URL)) return at
  }
  throw new Error('the provider never sends the browser back')
}

/** Signs in with the provider, from the sign-in page to the response of Berth to the returning browser. */
export async function signInBy(
  provider: Pick<TestProvider, 'visit'>,
  client: Client,
  sub: string,
  query = '',
): Promise<PageResponse> {
  const begun = await client.get(`/sign-in/sso${query}`)
  assert.equal(begun.status, 303, begun.text)
  return client.get(pathOf(await provider.visit(begun.location, sub)))
}

export type StandIn = {
  settings: Record<string, string>
  /** The next responses of the token endpoint: the claims of the ID token, and its signature. */
  answer: {
    claims?: object
    kid?: string
    forged?: boolean
    tokens?: object
    status?: number
    error?: string
    /** Called during a refresh. */
    during?: () => Promise<unknown>
  }
  visit(address: string, sub: string): Promise<string>
  /** The requests to the token endpoint. */
  asked: URLSearchParams[]
  close(): Promise<void>
}

/** Starts a provider with scripted responses. It checks only PKCE: Berth must detect its other errors. `path`: that of its issuer. */
export async function startStandIn(path = ''): Promise<StandIn> {
  const own = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const answer: StandIn['answer'] = {}
  const asked: URLSearchParams[] = []
  let begun = new URLSearchParams()
  const { server, address } = await listen(async (request, response) => {
    const say = (body: object, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (request.url === `${path.replace(/\/$/, '')}/.well-known/openid-configuration`)
      return say(metadataOf(issuer, address))
    if (request.url === '/keys')
      return say({ keys: [{ ...own.publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'RS256' }] })
    const form = new URLSearchParams(await textOf(request))
    asked.push(form)
    if (form.get('grant_type') === 'refresh_token') {
      const { during, error } = answer
      delete answer.during
      await during?.()
      if (error !== undefined) return say({ error }, 400)
    }
    if (answer.status !== undefined) return say({ error: 'temporarily_unavailable' }, answer.status)
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (form.has('code') && challenge !== begun.get('code_challenge')) return say({ error: 'invalid_grant' }, 400)
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: issuer,
      aud: CLIENT.id,
      sub: 'one',
      iat: now,
      exp: now + 300,
      nonce: begun.get('nonce'),
      ...answer.claims,
    }
    const key = (answer.forged ? other : own).privateKey
    return say({
      access_token: randomUUID(),
      token_type: 'Bearer',
      refresh_token: 'refresh-1',
      id_token: signed({ alg: 'RS256', kid: answer.kid ?? 'one' }, claims, key),
      ...answer.tokens,
    })
  })
  const issuer = `${address}${path}`
  return {
    settings: settingsFor(issuer),
    answer,
    asked,
    visit: async (address) => {
      begun = new URL(address).searchParams
      return `${PUBLIC_URL}/sign-in/sso/callback?${new URLSearchParams({ code: randomUUID(), state: begun.get('state')!, iss: issuer })}`
    },
    close: () => closeServer(server),
  }
}

function metadataOf(issuer: string, address: string): object {
  return {
    issuer,
    authorization_endpoint: `${address}/auth`,
    token_endpoint: `${address}/token`,
    jwks_uri: `${address}/keys`,
    scopes_supported: ['openid', 'offline_access'],
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    authorization_response_iss_parameter_supported: true,
  }
}

function signed(header: object, claims: object, key: Parameters<ReturnType<typeof createSign>['sign']>[0]): string {
  const text = [header, claims].map((one) => Buffer.from(JSON.stringify(one)).toString('base64url')).join('.')
  return `${text}.${createSign('RSA-SHA256').update(text).sign(key, 'base64url')}`
}

function settingsFor(issuer: string): Record<string, string> {
  return {
    BERTH_PUBLIC_URL: PUBLIC_URL,
    BERTH_OIDC_ISSUER: issuer,
    BERTH_OIDC_CLIENT_ID: CLIENT.id,
    BERTH_OIDC_CLIENT_SECRET: CLIENT.secret,
  }
}

async function listen(handle: RequestListener): Promise<{ server: Server; address: string }> {
  const server = createServer(handle)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

function closeServer(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text
}
