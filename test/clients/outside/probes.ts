/** Probes of another project: what a visitor of a deployment sends, and what must come. docs/testing.md. */
import { setTimeout as sleep } from 'node:timers/promises'
import { runInNewContext } from 'node:vm'
import type { EdgeReply } from '../../support/worlds/edge-world.ts'

/** As the folders say them. */
export type Probe = {
  path: string
  method?: string
  headers?: Record<string, string>
  body?: object
  fetchOptions?: { redirect?: 'manual' | 'follow' }
  status?: number
  mustContain?: string
  mustNotContain?: string
  bodyMustBe?: string
  /** null: it must not come. A text between two slashes is a regular expression. */
  responseHeaders?: Record<string, string | string[] | null>
  notResponseHeaders?: Record<string, string>
  logMustContain?: string
  logMustNotContain?: string
  /** Nothing is asked, but pages have this time to be renewed. */
  delay?: number
  retries?: number
  retryDelay?: number
}

/** A probe by what it asks, with what was wrong; undefined where it passed. */
export type Probed = { name: string; fault: string | undefined }

export type Sent = { method: string; headers: Record<string, string>; body: string }

/** A deployment as its visitors see it, and the log of its build. */
export type Deployed = {
  host: string
  visit(path: string, sent: Sent): Promise<EdgeReply>
  log(): Promise<string>
}

const MOST_REDIRECTS = 5
const MOST_WHILE_BUSY = 5
/** The build that all apps of Next.js with such a probe name themselves. */
const BUILD_MANIFEST = '/_next/static/build-TfctsWXpff2fKS/_buildManifest.js'

/** Asks each probe in their order, and says of each what was wrong. */
export async function askProbes(folder: string, probes: readonly Probe[], site: Deployed): Promise<Probed[]> {
  const probed: Probed[] = []
  for (const probe of probes) {
    if (probe.delay === undefined) probed.push({ name: nameOf(folder, probe), fault: await tryProbe(site, probe) })
    // Nothing shows that the time for which a page is fresh has passed.
    else await sleep(probe.delay)
  }
  return probed
}

function nameOf(folder: string, probe: Probe): string {
  const { path = 'log', method, mustContain, logMustContain, logMustNotContain } = probe
  return [folder, method, path, mustContain ?? logMustContain ?? logMustNotContain].filter(Boolean).join(' ')
}

/** A probe may say how often it is repeated. */
async function tryProbe(site: Deployed, probe: Probe): Promise<string | undefined> {
  for (let left = probe.retries ?? 0; ; left--) {
    const fault = await faultOf(site, probe)
    if (fault === undefined || left <= 0) return fault
    // What it waits for is seen by asking again alone.
    await sleep(probe.retryDelay ?? 0)
  }
}

async function faultOf(site: Deployed, probe: Probe): Promise<string | undefined> {
  const { logMustContain, logMustNotContain } = probe
  if (logMustContain === undefined && logMustNotContain === undefined)
    return faultOfReply(probe, await follow(site, probe))
  const log = await site.log()
  if (logMustContain !== undefined && !log.includes(logMustContain)) return `the log has no ${logMustContain}`
  if (logMustNotContain !== undefined && log.includes(logMustNotContain)) return `the log has ${logMustNotContain}`
  return undefined
}

/** As `fetch` does, unless the probe asks for the redirect itself. Other hosts are not asked. */
async function follow(
  site: Deployed,
  { path, method = 'GET', headers = {}, body, fetchOptions }: Probe,
): Promise<EdgeReply> {
  const get: Sent = { method: 'GET', headers, body: '' }
  const json = { 'content-type': 'application/json', ...headers }
  let sent = body === undefined ? { ...get, method } : { method, headers: json, body: JSON.stringify(body) }
  let at = new URL(await scriptPath(site, path), `https://${site.host}`)
  let said = await ask(site, at, sent)
  for (let hops = 0; hops < MOST_REDIRECTS && fetchOptions?.redirect !== 'manual'; hops++) {
    const { location } = said.headers
    if (location === undefined || said.status < 300 || said.status >= 400) break
    at = new URL(location, at)
    if (at.hostname !== site.host) break
    if (said.status < 307) sent = get
    said = await ask(site, at, sent)
  }
  return said
}

async function ask(site: Deployed, { pathname, search }: URL, sent: Sent): Promise<EdgeReply> {
  let said = await site.visit(pathname + search, sent)
  // A function that starts on a busy machine may not be ready in time.
  for (let tries = 0; said.status === 503 && tries < MOST_WHILE_BUSY; tries++)
    said = await site.visit(pathname + search, sent)
  return said
}

/** `__NEXT_SCRIPT__(/page,/base)` in a path is the script of that page, below a base path or none. */
async function scriptPath(site: Deployed, path: string): Promise<string> {
  const [whole, page = '', base = ''] = /__NEXT_SCRIPT__\(([^,)]*),?([^)]*)\)/.exec(path) ?? []
  if (whole === undefined) return path
  const { text } = await site.visit(base + BUILD_MANIFEST, { method: 'GET', headers: {}, body: '' })
  const scripts = runInNewContext(`const self = {};${text};self.__BUILD_MANIFEST`)?.[page]
  return path.replace(whole, [scripts].flat()[0])
}

function faultOfReply(probe: Probe, { status, headers, text }: EdgeReply): string | undefined {
  const { mustContain, mustNotContain, bodyMustBe } = probe
  const shown = `${status}: ${text.slice(0, 300)}`
  if (probe.status !== undefined && status !== probe.status) return `is ${shown}`
  if (mustContain !== undefined && !text.includes(mustContain)) return `has no ${mustContain}, but ${shown}`
  if (mustNotContain !== undefined && text.includes(mustNotContain)) return `has ${mustNotContain}`
  if (bodyMustBe !== undefined && text !== bodyMustBe) return `is not ${bodyMustBe}, but ${shown}`
  for (const [name, wanted] of Object.entries(probe.responseHeaders ?? {})) {
    const come = [headers[name.toLowerCase()] ?? []].flat()
    const fits =
      wanted === null ? come.length === 0 : [wanted].flat().every((one) => come.some((had) => isSame(one, had)))
    if (!fits) return `${name}: ${come.join(', ')}, and not ${wanted}`
  }
  for (const [name, unwanted] of Object.entries(probe.notResponseHeaders ?? {}))
    if (headers[name.toLowerCase()] === unwanted) return `${name}: ${unwanted}`
  return undefined
}

function isSame(wanted: string, had: string): boolean {
  const isPattern = wanted.startsWith('/') && wanted.endsWith('/')
  return isPattern ? new RegExp(wanted.slice(1, -1)).test(had) : wanted === had
}
