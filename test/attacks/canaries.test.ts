/**
 * One secret of every kind goes through all that Berth does; then everything that leaves or is left behind is searched for
 * each of them: answers, logs, deliveries, mails, the files or tables of the store, a backup, figures, the edge.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import pg from 'pg'
import { createBackup } from '../../src/operations/backup/backup.ts'
import { sendDueMail } from '../../src/platform/mail/worker.ts'
import { SCOPES } from '../../src/platform/permissions/scopes.ts'
import { callOver } from '../support/call.ts'
import { openClient } from '../support/clients/browser-client.ts'
import { readQueuedMail } from '../support/queued-mail.ts'
import { deliver, LOCAL, type Receiver, receiver } from '../support/servers/receiver.ts'
import { openSmtp } from '../support/servers/smtp.ts'
import { type ApiResponse, type Call, type Method, onBothEngines, type World } from '../support/world.ts'
import { openEdgeOf } from '../support/worlds/edge-world.ts'
import { consentAndInstall, exchange, seedIntegration } from '../support/worlds/integration-world.ts'
import { sayFigure } from './form.ts'

type Secret = {
  name: string
  value: string
  /** In which answers it may be: those of requests that this matches. */
  told: RegExp
  /** Where else it may be. */
  elsewhere?: readonly Place['kind'][]
}
type Place = {
  kind: 'answer' | 'log' | 'delivery' | 'mail' | 'store' | 'backup' | 'figures' | 'edge'
  name: string
  bytes: Buffer
}

const NEVER = /^$/
const ONCE = (path: RegExp) => path
/** As long as what users choose, and of characters that every field takes. */
const fresh = () => randomBytes(16).toString('hex')

const OF_SETTINGS = { mailServer: fresh(), edge: fresh(), figures: fresh(), sites: fresh() }
const smtp = await openSmtp({ login: `berth:${OF_SETTINGS.mailServer}` })
after(() => smtp.close())
const SETTINGS = {
  ...LOCAL,
  BERTH_SMTP_URL: smtp.url.replace('//', `//berth:${OF_SETTINGS.mailServer}@`),
  BERTH_MAIL_FROM: 'berth@acme.example',
  BERTH_EDGE_TOKEN: OF_SETTINGS.edge,
  BERTH_METRICS_TOKEN: OF_SETTINGS.figures,
  BERTH_SITES_TOKEN: OF_SETTINGS.sites,
}

onBothEngines(
  'no secret is anywhere but where it must be',
  async (world, t) => {
    const answers: Place[] = []
    smtp.received.length = 0
    const watched = (call: Call): Call =>
      callOver(async (method, url, ...rest) => {
        const answer = await call.try(method, url, ...rest)
        const name = `${answer.status} ${method} ${url}`
        answers.push({ kind: 'answer', name, bytes: Buffer.from(`${JSON.stringify(answer.headers)}${answer.text}`) })
        return answer
      })
    const inject = async (asked: { method: Method; url: string }) => {
      const answer = await world.app.inject(asked)
      const bytes = Buffer.from(`${JSON.stringify(answer.headers)}${answer.payload}`)
      answers.push({ kind: 'answer', name: `${answer.statusCode} ${asked.method} ${asked.url}`, bytes })
      return answer
    }
    const pages = { ...world, app: { inject } } as unknown as World
    const hook = await receiver(t)
    const logs = await receiver(t)
    const secrets = await liveThrough(world, watched, { hook, logs, pages })
    const places = [
      ...answers,
      ...(await leftBehind(world)),
      ...deliveriesOf('webhook', hook),
      ...deliveriesOf('drain', logs),
    ]
    const kinds = new Set(places.map(({ kind }) => kind))
    assert.equal(kinds.size, 8, `only ${[...kinds]} were looked at`)
    const found = secrets.flatMap((secret) =>
      places.filter((place) => isLeak(secret, place)).map(({ kind, name }) => `${secret.name} in ${kind} ${name}`),
    )
    assert.deepEqual(found, [])
    // The search finds what is there: each secret that may be sent was sent.
    for (const { name, value, told } of secrets.filter((one) => one.told !== NEVER)) {
      assert.ok(
        answers.some((answer) => told.test(answer.name) && answer.bytes.includes(value)),
        `${name} was sent nowhere`,
      )
    }
    const bytes = places.reduce((sum, place) => sum + place.bytes.length, 0)
    sayFigure(
      `canaries [${world.engine}]: ${secrets.length} secrets in 5 spellings, ${places.length} places, ${bytes} bytes; 0 found`,
    )
  },
  SETTINGS,
)

function isLeak({ value, told, elsewhere = [] }: Secret, { kind, name, bytes }: Place): boolean {
  if (kind === 'answer' ? told.test(name) : elsewhere.includes(kind)) return false
  return spellings(value).some((spelling) => bytes.includes(spelling))
}

/** As it is, and as a careless program would write it. Of Base64 the middle, which no neighbor changes. */
function spellings(value: string): string[] {
  const text = Buffer.from(value)
  const base64 = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), text])
      .toString('base64')
      .slice(4, -4),
  )
  return [value, text.toString('hex'), ...base64]
}

/** A team, a project with everything in it, an app, a visitor's password; what goes wrong with them, too. Gives the secrets. */
async function liveThrough(
  world: World,
  watched: (call: Call) => Call,
  to: { hook: Receiver; logs: Receiver; pages: World },
): Promise<Secret[]> {
  const call = watched(world.call)
  const operator = watched(world.operator)
  const secrets: Secret[] = []
  const keep = (name: string, value: string, told = NEVER, elsewhere: Secret['elsewhere'] = []) => {
    assert.ok(typeof value === 'string' && value.length >= 20, `${name}: ${value}`)
    secrets.push({ name, value, told, elsewhere })
    return value
  }
  const { userId, teamId } = world.credentials
  await operator('PATCH', `/operator/v1/accounts/${userId}`, { plan: 'enterprise' })
  await variables(call, keep)
  await endpoints(call, to, keep)
  await good(
    call('PATCH', '/v9/projects/web', {
      name: 'site',
      passwordProtection: { deploymentType: 'all', password: keep('a password of visitors', fresh()) },
    }),
  )
  const bypass = keep('a bypass secret', fresh(), /protection-bypass|(GET|PATCH|DELETE|POST) \/v(9|10)\/projects/)
  await good(call('PATCH', '/v1/projects/site/protection-bypass', { generate: { secret: bypass } }))
  const credential = {
    token: keep('a token at a git provider', fresh()),
    webhookSecret: keep('a secret for pushes', fresh()),
  }
  const git = `/operator/v1/accounts/${userId}/git-credentials/gitlab` as const
  await good(
    operator('PUT', git, { ...credential, baseUrl: 'http://127.0.0.1:1', webhookUrl: 'https://build.example.com' }),
  )
  assert.equal((await call.try('POST', '/v9/projects/site/link', { type: 'gitlab', repo: 'acme/web' })).status, 400)
  await people(world, watched, to.pages, keep)
  const made = await good(operator('POST', '/operator/v1/tokens', { userId, teamId }))
  keep('a token of the operator', made.body.token, /POST \/operator\/v1\/tokens$/)
  keep('the first token', world.credentials.token)
  keep('the operator token', world.credentials.operatorToken)
  await apps(world, watched, keep)
  await good(
    operator('POST', `/operator/v1/projects/${(await call('GET', '/v9/projects/site')).body.id}/logs`, {
      lines: [{ timestamp: 1, message: 'a line', source: 'edge' }],
    }),
  )
  await deliver(world)
  await letters(world)
  await settings(world, watched, keep)
  await good(operator('POST', '/operator/v1/keys/rotate'))
  for (const key of keysOf(world)) keep('a root key', key)
  for (const url of [
    '/v9/projects',
    '/v9/projects/site',
    '/v9/projects/site/env',
    '/v1/webhooks',
    '/v1/log-drains',
    '/v5/user/tokens',
    '/v1/integrations/configurations',
  ])
    await good(call('GET', url))
  for (const url of ['audit?limit=100', 'webhook-deliveries?limit=100', 'keys', 'integrations'])
    await good(operator('GET', `/operator/v1/${url}`))
  return secrets
}

type Keep = (name: string, value: string, told?: RegExp, elsewhere?: Secret['elsewhere']) => string

async function good<Given extends ApiResponse>(asked: Promise<Given>): Promise<Given> {
  const answer = await asked
  assert.ok(answer.status < 300, answer.text)
  return answer
}

/** Of each type, changed, removed, put in bulk, pulled; and refused for something else. */
async function variables(call: Call, keep: Keep): Promise<void> {
  await good(call('POST', '/v10/projects', { name: 'web' }))
  const readable = /GET \/v1\/projects\/web\/env\/env_|env\/pull|env\/export|decrypt=true/
  const told: Record<string, RegExp> = { encrypted: readable, secret: readable, sensitive: NEVER }
  for (const [type, where] of Object.entries(told)) {
    const value = keep(`a variable of type ${type}`, fresh(), where)
    const body = { key: `KEY_${type}`, value, type, target: ['production', 'preview'] }
    const made = await call('POST', '/v10/projects/web/env', body)
    assert.equal(made.status, 201, made.text)
    const { id } = made.body.created
    const changed = keep(
      `a changed variable of type ${type}`,
      fresh(),
      where === NEVER ? NEVER : /env\/pull|env\/export|decrypt|GET \/v1\/projects\/web\/env\/env_/,
    )
    await good(call('GET', `/v1/projects/web/env/${id}`))
    await good(call('PATCH', `/v9/projects/web/env/${id}`, { value: changed }))
    for (const url of [`/v1/projects/web/env/${id}`, `/v1/projects/web/env/${id}/history`]) await good(call('GET', url))
  }
  const gone = keep('a variable that was removed', fresh())
  const made = await good(call('POST', '/v10/projects/web/env', { key: 'GONE', value: gone, target: ['preview'] }))
  await good(call('DELETE', `/v9/projects/web/env/${made.body.created.id}`))
  const put = keep('a variable of a text', fresh(), /env\/pull|env\/export|decrypt/)
  await good(call('PUT', '/v1/projects/web/env?target=preview', new Blob([`PUT=${put}`], { type: 'text/plain' })))
  for (const url of [
    '/v9/projects/web/env?decrypt=true',
    '/v3/env/pull/web/preview',
    '/v1/projects/web/env/export?target=preview',
  ])
    await good(call('GET', url))
  const refused = keep('a value that was refused', fresh())
  for (const body of [
    { key: 'A B', value: refused, target: ['preview'] },
    { key: 'KEY', value: refused, target: ['nowhere'] },
    { key: 'KEY', value: { [refused]: refused }, target: [refused] },
    { key: 'KEY', value: refused, type: 'system', target: ['preview'] },
    `{"key":"KEY","value":"${refused}"`,
  ])
    assert.equal((await call.try('POST', '/v10/projects/web/env', body)).status, 400)
  const lines = new Blob([`${refused}\nA=${refused}\nA=${refused}`], { type: 'text/plain' })
  assert.equal((await call.try('PUT', '/v1/projects/web/env?target=preview', lines)).status, 400)
}

async function endpoints(call: Call, { hook, logs }: { hook: Receiver; logs: Receiver }, keep: Keep): Promise<void> {
  const made = await good(
    call('POST', '/v1/webhooks', {
      url: hook.url,
      events: ['project.created', 'project.renamed', 'project.env-variable.updated'],
    }),
  )
  keep('the secret of a webhook', made.body.secret, ONCE(/POST \/v1\/webhooks$/))
  const given = { deliveryFormat: 'json', sources: ['edge'], secret: fresh(), headers: { 'x-api-key': fresh() } }
  await good(call('POST', '/v1/log-drains', { url: logs.url, ...given }))
  keep('the secret of a drain', given.secret, ONCE(/POST \/v1\/log-drains$/))
  keep('a header of a drain', given.headers['x-api-key'], NEVER, ['delivery'])
}

/** Refused at first, so that the log has something to say of the mail server; then sent. */
async function letters({ deps }: World): Promise<void> {
  smtp.refuse = () => 450
  await sendDueMail(deps)
  assert.equal(smtp.received.length, 0)
  smtp.refuse = () => undefined
  deps.clock.set(deps.clock.now() + 3_600_000)
  await sendDueMail(deps)
  assert.ok(smtp.received.length > 0, 'no letter was sent')
}

/** The secrets that the operator sets, used where they open something and where they do not. */
async function settings(world: World, watched: (call: Call) => Call, keep: Keep): Promise<void> {
  keep('the password of the mail server', OF_SETTINGS.mailServer)
  keep('the token of the edge', OF_SETTINGS.edge)
  keep('the token of sites servers', OF_SETTINGS.sites)
  const scraper = watched(world.as(keep('the token of the figures', OF_SETTINGS.figures)))
  await good(scraper('GET', '/metrics'))
  assert.equal((await scraper.try('GET', '/v9/projects')).status, 401)
}

/** A password by its link and a session by the password; a token that a user creates, tokens that are wrong. */
async function people(world: World, watched: (call: Call) => Call, pages: World, keep: Keep): Promise<void> {
  const { userId } = world.credentials
  const link = await good(watched(world.operator)('POST', `/operator/v1/users/${userId}/password-link`))
  const letters = await readQueuedMail(world)
  const secret = /link=(\w+)/.exec(link.text + letters.map((one) => one.body_text).join(''))?.[1]
  // Its letter is forgotten once it was sent; the file of the store keeps what was free until it is used again.
  keep('the link for a password', secret ?? '', /password-link$|\/set-password/, ['mail', 'store'])
  await session(pages, `/set-password?link=${secret}`, keep)
  const own = await good(watched(world.call)('POST', '/v3/user/tokens', { name: 'laptop' }))
  keep('a token that a user created', own.body.bearerToken, /POST \/v3\/user\/tokens$/)
  await watched(world.call)('DELETE', `/v3/user/tokens/${own.body.token.id}`)
  const wrong = watched(world.as(keep('a token that is none', fresh())))
  assert.equal((await wrong.try('GET', '/v9/projects')).status, 401)
  const inQuery = keep('a secret in a query', fresh())
  const missing = await watched(world.call).try('GET', `/v9/projects/nosuch?token=${inQuery}`)
  const nowhere = await watched(world.as(undefined)).try('GET', `/nowhere?token=${inQuery}`)
  assert.deepEqual([missing.status, nowhere.status], [404, 404])
}

/** Sets the password, signs in, with a wrong one first, and looks at pages. */
async function session(pages: World, link: string, keep: Keep): Promise<void> {
  const password = keep('the password of a user', fresh())
  const first = openClient(pages)
  await first.get(link)
  assert.equal((await first.post(link, { password, again: password })).status, 303)
  const ofLink = first.cookies.get('berth_session') ?? ''
  keep('the cookie of a session by a link', ofLink, /POST \/set-password/)
  const browser = openClient(pages)
  await browser.get('/sign-in')
  const visit = keep('the cookie of a visitor', browser.cookies.get('berth_visit') ?? '', /\/(sign-in|set-password)/)
  const wrong = keep('a wrong password', fresh())
  assert.equal((await browser.post('/sign-in', { name: 'admin', password: wrong })).status, 403)
  assert.equal((await browser.post('/sign-in', { name: 'admin', password })).status, 303)
  const secret = keep('the cookie of a session', browser.cookies.get('berth_session') ?? '', /POST \/sign-in$/)
  assert.notEqual(secret, visit)
  assert.equal((await browser.get('/integrations/installed')).status, 200)
  for (const url of ['/sign-in', '/nowhere', '/v9/projects']) await browser.get(url)
}

async function apps(world: World, watched: (call: Call) => Call, keep: Keep): Promise<void> {
  const scopes = SCOPES.map((scope) => `read-write:${scope}`)
  const app = await seedIntegration({ ...world, operator: watched(world.operator) }, { scopes })
  keep('the secret of an app', app.clientSecret, /POST \/operator\/v1\/integrations$/)
  const seen: World = { ...world, operator: watched(world.operator), as: (token) => watched(world.as(token)) }
  const { code } = await consentAndInstall(seen, app, { teamId: undefined })
  keep('a code', code, /\/installations$/)
  assert.equal((await exchange(seen, app, code, { client_secret: fresh() })).status, 401)
  const given = await good(exchange(seen, app, code))
  keep('the token of an installation', given.body.access_token, /POST \/v2\/oauth\/access_token$/)
  assert.equal((await exchange(seen, app, code)).status, 400)
}

function keysOf({ folder }: World): string[] {
  const text = readFileSync(join(folder, 'keys.json'), 'utf8')
  const keys = [...text.matchAll(/"([A-Za-z0-9+/_-]{42,}=*)"/g)].map(([, key]) => key!)
  assert.ok(keys.length >= 2, 'the root keys are not where this test looks')
  return keys
}

function deliveriesOf(name: string, { got }: Receiver): Place[] {
  assert.ok(got.length > 0, `nothing was sent to the ${name}`)
  return got.map(({ headers, text }) => ({
    kind: 'delivery',
    name,
    bytes: Buffer.from(JSON.stringify(headers) + text),
  }))
}

async function leftBehind(world: World): Promise<Place[]> {
  const { ask } = await openEdgeOf(world)
  const edge = await Promise.all(
    ['snapshot', 'ready', 'ask?domain=x', 'nowhere'].map(async (path) => {
      const { status, headers, text } = await ask(
        `/edge/v1/${path}${path.includes('?') ? '&' : '?'}token=${OF_SETTINGS.edge}`,
      )
      assert.notEqual(status, 401)
      return { path, said: `${JSON.stringify(headers)}${text}` }
    }),
  )
  for (const path of ['/sites/v1/snapshot', '/sites/v1/hosts/none.example.com']) {
    const { status, text } = await ask(path, { authorization: `Bearer ${OF_SETTINGS.sites}` })
    assert.notEqual(status, 401)
    edge.push({ path, said: text })
  }
  const place = (kind: Place['kind'], name: string, bytes: string | Buffer): Place => ({
    kind,
    name,
    bytes: Buffer.from(bytes),
  })
  const metrics = await world.operator('GET', '/metrics')
  assert.equal(metrics.status, 200)
  const to = join(world.folder, 'copy.db')
  await createBackup(world.deps.config, { to, version: 'test', withKeys: false }, () => {})
  return [
    place('log', 'the log', world.logged()),
    place('figures', '/metrics', metrics.text),
    ...edge.map(({ path, said }) => place('edge', path, said)),
    place('backup', 'the backup', readFileSync(to)),
    place('backup', 'its manifest', readFileSync(`${to}.json`)),
    ...smtp.received.map(({ to, raw }) => place('mail', `to ${to}`, raw)),
    ...(world.engine === 'sqlite'
      ? filesOf(world).map((file) => place('store', file, readFileSync(join(world.folder, file))))
      : []),
    ...(world.engine === 'postgres' ? await tablesOf(world) : []),
  ]
}

/** The database and its write-ahead log as they lie on the disk, free pages and all. */
function filesOf({ folder }: World): string[] {
  const files = readdirSync(folder).filter((name) => name.startsWith('berth.db'))
  assert.ok(files.includes('berth.db-wal'))
  return files
}

async function tablesOf({ deps }: World): Promise<Place[]> {
  const { database } = deps.config
  assert.equal(database.engine, 'postgres')
  const client = new pg.Client({ connectionString: (database as { url: string }).url })
  await client.connect()
  try {
    const { rows } = await client.query(
      "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'public'",
    )
    const places: Place[] = []
    for (const { name } of rows) {
      const { rows: all } = await client.query(
        `select coalesce(string_agg(one::text, E'\\n'), '') as text from ${name} as one`,
      )
      places.push({ kind: 'store', name, bytes: Buffer.from(all[0].text) })
    }
    return places
  } finally {
    await client.end()
  }
}
