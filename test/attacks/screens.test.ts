/**
 * Attacks on every page and every form, from the table of screens: a new one is covered without being named here. Another site, another
 * tenant, a planted parameter and a half sign-in. docs/threats.md.
 */
import assert from 'node:assert/strict'
import type { Screen } from '../../src/platform/pages/screen.ts'
import { SCREENS } from '../../src/screens.ts'
import { type Client, openClient, openSignedInClient, type PageResponse } from '../support/clients/browser-client.ts'
import { valuesOf } from '../support/clients/screen-values.ts'
import { openClientAfterPassword, setUpCodes } from '../support/clients/second-factor.ts'
import { seedSamples } from '../support/sample-requests.ts'
import { digest } from '../support/stores/digest.ts'
import { onBothEngines } from '../support/world.ts'

const HOST = 'berth.example'
const HTTPS = { BERTH_PUBLIC_URL: `https://${HOST}` }
const EVIL = 'evil.example'
/** The health of the service begins checks that continue after the request, and a stream goes on. */
const BESIDE = new Set(['showHealth', 'followPage'])
const PAGES = SCREENS.filter(({ method }) => method === 'GET')
const FORMS = SCREENS.filter(({ method }) => method === 'POST')

/** The address of a screen. `values`: what stands for its names; what is not there is 'x'. */
function pathOf({ path }: Screen, values: Record<string, string> = {}): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(values[name] ?? 'x'))
}

/** The names of the query, or of the fields that are given once. */
function namesOf(schema: Screen['query'] | Screen['form']): string[] {
  const properties: Record<string, { type?: string }> = schema?.properties ?? {}
  return Object.keys(properties).filter((name) => properties[name]!.type !== 'array')
}

function mustBeShut({ headers }: PageResponse, about: string): void {
  const policy = String(headers['content-security-policy'])
  for (const part of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"])
    assert.ok(policy.includes(part), `${about}: ${policy}`)
  assert.doesNotMatch(policy, /unsafe|\*/, about)
  assert.deepEqual(
    [
      headers['x-frame-options'],
      headers['cache-control'],
      headers['referrer-policy'],
      headers['x-content-type-options'],
      headers['cross-origin-resource-policy'],
    ],
    ['DENY', 'no-store', 'no-referrer', 'nosniff', 'same-origin'],
    about,
  )
}

onBothEngines(
  'no page can be framed, cached or named in a Referer, also when it refuses, and every cookie is of this host alone',
  async (world) => {
    const samples = await seedSamples(world)
    const person = await openSignedInClient(world)
    for (const client of [openClient(world), person])
      for (const screen of SCREENS.filter(({ name }) => !BESIDE.has(name))) {
        const about = `${screen.method} ${screen.path}`
        const path = pathOf(screen, screen.method === 'GET' ? valuesOf(screen.path, samples) : {})
        const seen = await (screen.method === 'GET' ? client.get(path) : client.post(path, { form: 'x' }))
        mustBeShut(seen, `${about} ${seen.status}`)
        for (const line of [seen.headers['set-cookie'] ?? []].flat())
          assert.match(
            String(line),
            /^__Host-berth_(session|visit|account|done|theme|time_zone)=[\w.-]*; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+; Secure$/,
            about,
          )
      }
  },
  HTTPS,
)

onBothEngines(
  'no page changes anything when it is only opened: another site may lead a browser to it',
  async (world) => {
    const samples = await seedSamples(world)
    const client = await openSignedInClient(world)
    const before = await digest(world)
    let shown = 0
    for (const screen of PAGES.filter(({ name }) => !BESIDE.has(name))) {
      const seen = await client.get(pathOf(screen, valuesOf(screen.path, samples)), { 'sec-fetch-site': 'cross-site' })
      assert.ok(seen.status < 500, `${screen.path}: ${seen.text}`)
      if (seen.status === 200) shown++
    }
    await world.deps.secretReads.write()
    assert.ok(shown > 40, `${shown} pages were shown`)
    assert.equal(await digest(world), before)
  },
)

onBothEngines(
  'no form is taken from another site, from another browser or in another coding, whatever it does',
  async (world) => {
    const samples = await seedSamples(world)
    const client = await openSignedInClient(world)
    const other = await openSignedInClient(world, samples.mateId, 'mate')
    const visitor = openClient(world)
    for (const one of [client, other, visitor]) await one.get('/sign-in')
    for (const one of [client, other]) await one.get('/invitations')
    const mine = client.token()
    const before = await digest(world)
    const attempts: [about: string, fields: Record<string, string>, headers: Record<string, string>][] = [
      ['no token', { form: '' }, {}],
      ['the token of another user', { form: other.token() }, {}],
      ['the token of a visitor', { form: visitor.token() }, {}],
      ['a longer token', { form: `${mine}x` }, {}],
      ['another origin', {}, { origin: `https://${EVIL}` }],
      ['another port', {}, { origin: 'http://127.0.0.1:1' }],
      ['another site', {}, { 'sec-fetch-site': 'cross-site' }],
      ['a sub-domain', {}, { 'sec-fetch-site': 'same-site' }],
      ['an address that was typed', {}, { 'sec-fetch-site': 'none' }],
      ['a sandbox', {}, { origin: 'null', 'sec-fetch-site': 'cross-site' }],
    ]
    for (const screen of FORMS) {
      const path = pathOf(screen, valuesOf(screen.path, samples))
      for (const [about, fields, headers] of attempts) {
        const seen = await client.post(path, { form: mine, ...fields }, headers)
        assert.equal(seen.status, 403, `${screen.path}: ${about}`)
      }
      for (const type of ['text/plain', 'application/json', 'multipart/form-data; boundary=x', '']) {
        const seen = await client.post(path, { form: mine }, { 'content-type': type })
        assert.ok([403, 415].includes(seen.status), `${screen.path} as ${type}: ${seen.status}`)
      }
      const asked = await client.get(`${path}?form=${mine}`)
      assert.notEqual(asked.status, 500, screen.path)
    }
    await world.deps.secretReads.write()
    assert.equal(await digest(world), before)
  },
)

const OUT = [
  `//${EVIL}`,
  `///${EVIL}`,
  `\\\\${EVIL}`,
  `/\\${EVIL}`,
  `/%5c${EVIL}`,
  `/%2f${EVIL}`,
  `https:${EVIL}`,
  `https://${EVIL}/console`,
  `https://${HOST}@${EVIL}/console`,
  `https://${HOST}.${EVIL}/console`,
  `http://here.invalid:80@${EVIL}/console`,
  `/.//${EVIL}`,
  `/console/..//${EVIL}`,
  `/console/%2e%2e//${EVIL}`,
  `/console/..\\..\\\\${EVIL}`,
  `/\t/${EVIL}`,
  `/\r\n/${EVIL}`,
  `\u0001//${EVIL}`,
  ` //${EVIL}`,
  `/\u3002${EVIL}`,
  `//${EVIL}\u3002`,
  `\uff0f\uff0f${EVIL}`,
  'javascript:alert(1)//console',
  'data:text/html,x',
  `/sign-in/sso/link?x//${EVIL}`,
]

/** Where a browser goes from a page: by its redirect, and by every address in its markup. */
function waysFrom({ location, text }: PageResponse): string[] {
  const markup = [...text.matchAll(/\b(?:href|action|src|formaction|data-kept-at)="([^"]*)"/g)].map(([, to]) => to!)
  const plain = markup.map((to) => to.replaceAll('&amp;', '&').replaceAll('&#39;', "'").replaceAll('&quot;', '"'))
  return [...(location === '' ? [] : [location]), ...plain]
}

onBothEngines(
  'no parameter of any page leads a browser out of the service, however it is written',
  async (world) => {
    const origin = `https://${HOST}`
    const person = await openSignedInClient(world)
    for (const client of [openClient(world), person])
      for (const screen of PAGES.filter(({ query }) => query !== undefined))
        for (const name of namesOf(screen.query))
          for (const out of OUT) {
            const seen = await client.get(`${pathOf(screen)}?${new URLSearchParams({ [name]: out })}`)
            for (const way of waysFrom(seen)) {
              const to = URL.parse(way, origin)
              assert.ok(
                to !== null && to.host !== EVIL && /^(https|otpauth):$/.test(to.protocol),
                `${screen.path}?${name}=${JSON.stringify(out)} redirects to ${way}`,
              )
              assert.ok(to.host === HOST || seen.location !== way, `${screen.path}?${name}: ${way}`)
            }
            assert.doesNotMatch(seen.location, /[\r\n\\]|^\/\//)
          }
  },
  HTTPS,
)

onBothEngines(
  'a parameter or a field that is given twice is refused, and nothing is done with either',
  async (world) => {
    const samples = await seedSamples(world)
    const client = await openSignedInClient(world)
    await client.get('/invitations')
    const before = await digest(world)
    for (const screen of PAGES)
      for (const name of namesOf(screen.query)) {
        const seen = await client.get(`${pathOf(screen, valuesOf(screen.path, samples))}?${name}=yes&${name}=yes`)
        assert.equal(seen.status, 400, `${screen.path}?${name}`)
      }
    for (const screen of FORMS)
      for (const name of namesOf(screen.form)) {
        const seen = await client.post(pathOf(screen, valuesOf(screen.path, samples)), { [name]: ['1', '1'] })
        assert.equal(seen.status, 400, `${screen.path} ${name}: ${seen.text}`)
      }
    assert.equal(await digest(world), before)
  },
)

onBothEngines('another host in the request is in no address that is answered, and in no letter', async (world) => {
  const samples = await seedSamples(world)
  const client = await openSignedInClient(world)
  const headers = {
    host: EVIL,
    'x-forwarded-host': EVIL,
    'x-forwarded-proto': 'https',
    forwarded: `host=${EVIL}`,
    'x-original-url': `https://${EVIL}/`,
    'x-rewrite-url': '/console/operator',
  }
  for (const one of [openClient(world), client])
    for (const screen of PAGES.filter(({ name }) => !BESIDE.has(name))) {
      const seen = await one.get(pathOf(screen, valuesOf(screen.path, samples)), headers)
      assert.ok(!`${seen.location}${seen.text}`.includes(EVIL), screen.path)
    }
  const path = `/operator/v1/users/${samples.mateId}/password-link` as const
  const made = await world.operator('POST', path, undefined, headers)
  assert.equal(made.status, 201, made.text)
  assert.ok(!made.text.includes(EVIL))
})

onBothEngines('a password alone, with a second factor to come, opens no page and no form of a user', async (world) => {
  const samples = await seedSamples(world)
  const { recovery } = await setUpCodes(world, await openSignedInClient(world))
  const thief = await openClientAfterPassword(world)
  const before = await digest(world)
  for (const screen of SCREENS.filter(({ auth }) => auth === 'person')) {
    const path = pathOf(screen, valuesOf(screen.path, samples))
    const seen = await (screen.method === 'GET' ? thief.get(path) : thief.post(path))
    const isAsked = seen.status === 303 && seen.location.startsWith('/sign-in?return=')
    const isKept = seen.status === 401 && /What you typed is kept/.test(seen.text)
    // A stream then belongs to no user, and has no target.
    const isSilent = screen.streams === true && seen.status === 204 && seen.text === ''
    assert.ok(isAsked || isKept || isSilent, `${screen.method} ${screen.path}: ${seen.status} ${seen.location}`)
  }
  assert.equal(await digest(world), before)
  assert.equal((await thief.post('/sign-in/code', { code: recovery[0]! })).status, 303, 'the step itself still waits')
})

/** What a page says, without what names the account that was asked for, and without the name of its forms, which is another one in each answer. */
function anonymous({ status, location, text }: PageResponse, slug: string, client: Client): string {
  return `${status} ${location} ${text}`
    .replaceAll(slug, 'SLUG')
    .replaceAll(client.token(), 'TOKEN')
    .replaceAll(/name="once" value="\w+"/g, '')
}

onBothEngines(
  'no page and no form of another account is there, and the answer is the one for an account that does not exist',
  async (world) => {
    const samples = await seedSamples(world)
    const client = await openSignedInClient(world)
    await client.get('/invitations')
    const before = await digest(world)
    const ofAccount = SCREENS.filter(({ path }) => path.startsWith('/console/t/:slug'))
    assert.ok(ofAccount.length > 60)
    for (const screen of ofAccount) {
      const answers = new Set<string>()
      for (const slug of ['nobodys', 'rivals', 'rival']) {
        const path = pathOf(screen, { ...valuesOf(screen.path, samples), slug })
        const seen = await (screen.method === 'GET' ? client.get(path) : client.post(path))
        assert.equal(seen.status, 404, `${screen.method} ${path}: ${seen.location}`)
        answers.add(anonymous(seen, slug, client))
      }
      assert.equal(answers.size, 1, screen.path)
    }
    assert.equal(await digest(world), before)
  },
)

/** TABLE what a session alone must not open: secrets, sign-in methods, users, and the service itself. */
const FRESH = [
  '/console/account/security/factors',
  '/console/account/security/factors/passkeys',
  '/console/account/security/factors/recovery',
  '/console/account/email/change',
  '/console/account/tokens/new',
  '/console/t/:slug/projects/:name/variables/:id',
  '/console/t/:slug/variables/:id',
  '/console/t/:slug/projects/:name/variables/export',
  '/console/t/:slug/projects/:name/transfer',
  '/console/t/:slug/apps/:id/secrets',
  '/console/t/:slug/members/:uid/remove',
]

onBothEngines(
  'a stolen session without an authentication in the last hour opens no secret, no other sign-in method and no page of the operator',
  async (world) => {
    const samples = await seedSamples(world)
    const client = await openSignedInClient(world)
    await client.get('/invitations')
    world.deps.clock.set(world.deps.clock.now() + 3_600_000)
    // The use of the session is written down by the first page.
    await client.get('/invitations')
    const before = await digest(world)
    const fresh = SCREENS.filter((screen) => screen.requiresReauthentication)
    const paths = fresh.map(({ path }) => path)
    for (const path of FRESH) assert.ok(paths.includes(path), path)
    for (const { path } of SCREENS) if (path.startsWith('/console/operator')) assert.ok(paths.includes(path), path)
    for (const screen of fresh) {
      const path = pathOf(screen, valuesOf(screen.path, samples))
      const seen = await (screen.method === 'GET' ? client.get(path) : client.post(path))
      const isAsked = seen.status === 303 && seen.location.startsWith('/confirm?return=')
      const isKept = seen.status === 403 && /Confirm that it is you/.test(seen.text)
      assert.ok(isAsked || isKept, `${screen.method} ${path}: ${seen.status} ${seen.location}`)
      // It leads back to a page, and not to the address of a form alone.
      const back = decodeURIComponent(seen.location.split('return=')[1] ?? '')
      if (isAsked && screen.method === 'POST') assert.notEqual((await client.get(back)).status, 405, back)
    }
    assert.equal(await digest(world), before)
  },
)
