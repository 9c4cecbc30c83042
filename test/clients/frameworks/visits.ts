/** A deployed app of a framework as its visitors see it, by http and by https. docs/frameworks.md. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { type Files, folderWith, type startLaptop } from '../source-builds.ts'

/** `ask`: method and path. `from`: the page whose form is sent, `own` or of another site. */
export type Probe = {
  ask: string
  headers?: Record<string, string>
  form?: Record<string, string>
  body?: string
  from?: 'own' | 'other'
  status: number
  text?: RegExp
  has?: Record<string, RegExp>
}

/** A page whose text differs from visit to visit, by the number in it. */
export type Changing = { path: string; value: RegExp }

export type App = {
  name: string
  files: Files
  words?: string[]
  probes: readonly Probe[]
  changing?: readonly Changing[]
  /** Pages that are cached for a second, and then renewed. */
  renewed?: readonly Changing[]
  /** A file that the page links to, which browsers keep. */
  asset?: { page: string; link: RegExp; caching: RegExp }
  /** A response whose second part comes after another request. */
  streamed?: { path: string; first: RegExp; release: string; last: RegExp }
}

export type Site = { host: string; port: number; scheme: 'http' | 'https' }
type Answer = { status: number; headers: IncomingHttpHeaders; text: string }

const OTHER_SITE = 'elsewhere.example'

/** Sends a request, and resolves when its response begins. */
export async function begin(
  { host, port, scheme }: Site,
  [method, path]: readonly [string, string],
  headers: Record<string, string> = {},
  body = '',
): Promise<IncomingMessage> {
  const all = {
    host: `${host}:${port}`,
    ...headers,
    ...(body && { 'content-length': String(Buffer.byteLength(body)) }),
  }
  const options = { host: '127.0.0.1', port, method, path, headers: all, agent: false as const }
  const sent =
    scheme === 'http' ? requestHttp(options) : requestHttps({ ...options, servername: host, rejectUnauthorized: false })
  sent.end(body)
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  return answer
}

/** Asks what a probe says, as a browser would that follows no redirect. */
export async function visit(site: Site, { ask, headers, form, body, from }: Omit<Probe, 'status'>): Promise<Answer> {
  const { host, port, scheme } = site
  const origin = from === 'other' ? `${scheme}://${OTHER_SITE}` : `${scheme}://${host}:${port}`
  const sent = {
    accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
    ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
    ...(from && { origin, referer: `${origin}/` }),
    ...headers,
  }
  const answer = await begin(
    site,
    ask.split(' ') as [string, string],
    sent,
    form ? new URLSearchParams(form).toString() : body,
  )
  return { status: answer.statusCode!, headers: answer.headers, text: await text(answer) }
}

async function passes(site: Site, probe: Probe): Promise<void> {
  let seen = await visit(site, probe)
  // A function that starts on a busy machine may not be ready in time.
  await eventually(async () => {
    if (seen.status === 503) seen = await visit(site, probe)
    return seen.status !== 503
  })
  const shown = JSON.stringify(seen, null, 1).slice(0, 4000)
  assert.equal(seen.status, probe.status, shown)
  if (probe.text) assert.match(seen.text, probe.text, shown)
  for (const [name, value] of Object.entries(probe.has ?? {}))
    assert.match([seen.headers[name] ?? ''].flat().join('; '), value, `${name}: ${shown}`)
}

async function changes(site: Site, { path, value }: Changing): Promise<void> {
  const valueAt = async () => value.exec((await visit(site, { ask: `GET ${path}` })).text)?.[1]
  const first = await valueAt()
  assert.ok(first, `${path} has no value`)
  await eventually(async () => ![first, undefined].includes(await valueAt()))
}

/** The first piece arrives while the rest waits for a request that is sent after it. */
async function streams(site: Site, { path, first, release, last }: NonNullable<App['streamed']>): Promise<void> {
  const answer = await begin(site, ['GET', path])
  let shown = ''
  for await (const piece of answer.setEncoding('utf8')) {
    const isFirst = !first.test(shown)
    shown += piece
    assert.ok(!isFirst || !last.test(shown), shown)
    if (isFirst && first.test(shown)) await visit(site, { ask: release })
  }
  assert.match(shown, last)
}

async function keeps(site: Site, { page, link, caching }: NonNullable<App['asset']>): Promise<void> {
  const shown = await visit(site, { ask: `GET ${page}` })
  const path = link.exec(shown.text)?.[1] ?? assert.fail(shown.text)
  const { status, headers } = await visit(site, { ask: `GET ${new URL(path, `http://site${page}`).pathname}` })
  assert.equal(status, 200)
  assert.match(String(headers['cache-control']), caching)
}

/** Asks all probes of an app by one scheme. */
export async function probe(t: TestContext, app: App, site: Site): Promise<void> {
  const { scheme } = site
  for (const one of app.probes) {
    const name = `${scheme} ${one.ask}${one.from ? ` from its ${one.from} page` : ''}: ${one.status}`
    await t.test(name, () => passes(site, one))
  }
  for (const one of app.changing ?? []) await t.test(`${scheme} ${one.path} changes`, () => changes(site, one))
  for (const one of app.renewed ?? [])
    await t.test(`${scheme} ${one.path} is cached and renewed`, async () => {
      await changes(site, one)
      const { headers } = await visit(site, { ask: `GET ${one.path}` })
      assert.match(String(headers['x-vercel-cache']), /^(?:HIT|STALE)$/)
    })
  const { asset, streamed } = app
  if (asset) await t.test(`${scheme} a file of ${asset.page} is kept by browsers`, () => keeps(site, asset))
  if (streamed) await t.test(`${scheme} ${streamed.path} is streamed`, () => streams(site, streamed))
}

type Laptop = Awaited<ReturnType<typeof startLaptop>>

/** Builds an app from its source by the newest command line, and asks its probes. Gives the site by http. */
export async function deployAndProbe(t: TestContext, laptop: Laptop, app: App): Promise<Site> {
  const words = ['--env', 'GREETING=from the environment', ...(app.words ?? [])]
  const { host } = await laptop.deploy(folderWith(t, app.files, app.name), '64.0.2', words)
  const port = Number(new URL(laptop.sites()).port)
  for (const scheme of ['http', 'https'] as const)
    await t.test(`${app.name} by ${scheme}`, (inner) => probe(inner, app, { host, port, scheme }))
  return { host, port, scheme: 'http' }
}
