/** A static build of another project: copied, built by the newest CLI, and requested as its probes do. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { EdgeReply } from '../support/worlds/edge-world.ts'
import { programOf } from './cli-world.ts'

/** As the probes of these folders say them: what a visitor sends, and what must come. */
type Probe = {
  path: string
  status?: number
  mustContain?: string
  mustNotContain?: string
  headers?: Record<string, string>
  responseHeaders?: Record<string, string>
  fetchOptions?: { redirect?: 'manual' }
}

/** A probe by what it asks, with what was wrong; undefined where it passed. */
export type Probed = { name: string; fault: string | undefined }

type Visit = (path: string, headers: Record<string, string>) => Promise<EdgeReply>

/** They put it into their pages, and look for it: another one would show a page of an earlier build. */
const MARK = 'RANDOMNESS_PLACEHOLDER'
const MARKED = 'c0ffee1dea'
/** For a build that hangs. */
const LONGEST_MS = 900_000
const MOST_REDIRECTS = 5

/** Copies a folder, marks it, and links it to a project. Gives its probes, which the build does not see. */
export function prepareFolder(from: string, to: string, linked: object): Probe[] {
  cpSync(from, to, { recursive: true })
  for (const name of readdirSync(to, { recursive: true, encoding: 'utf8' })) markFile(join(to, name))
  const config = readJson(join(to, 'vercel.json'))
  const { probes = readJson(join(to, 'probes.json'))?.probes, ...rest } = config ?? {}
  if (config !== undefined) writeFileSync(join(to, 'vercel.json'), JSON.stringify(rest))
  mkdirSync(join(to, '.vercel'), { recursive: true })
  writeFileSync(join(to, '.vercel', 'project.json'), JSON.stringify(linked))
  return probes ?? []
}

function markFile(file: string): void {
  if (!lstatSync(file).isFile()) return
  const text = readFileSync(file, 'latin1')
  if (text.includes(MARK)) writeFileSync(file, text.replaceAll(MARK, MARKED), 'latin1')
}

// biome-ignore lint/suspicious/noExplicitAny: it is a file of another project
function readJson(file: string): any {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}

/** Builds a folder by `vercel build`, which installs what it needs from npm. Gives the last lines of what it said; undefined where it worked. */
export async function buildFolder(folder: string, home: string): Promise<string | undefined> {
  const words = [programOf('64.0.2'), 'build', '--yes', '--token', 'none', '--cwd', folder]
  const env = {
    ...process.env,
    HOME: home,
    npm_config_userconfig: join(homedir(), '.npmrc'),
    VERCEL_TELEMETRY_DISABLED: '1',
    NO_UPDATE_NOTIFIER: '1',
    NO_COLOR: '1',
    CI: '1',
    // As a builder says them: some builds hand them on under names of their framework.
    VERCEL_ENV: 'preview',
    VERCEL_URL: 'site.example.net',
    RANDOMNESS_BUILD_ENV_VAR: MARKED,
  }
  const child = spawn(process.execPath, words, {
    env,
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LONGEST_MS,
    killSignal: 'SIGKILL',
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      said += chunk
    })
  }
  const [code, signal] = await once(child, 'close')
  return code === 0 ? undefined : `${signal ?? code}: ${said.trim().split('\n').slice(-5).join('\n')}`
}

/** Asks each probe, and says of each what was wrong. */
export async function probeAll(folder: string, probes: readonly Probe[], visit: Visit): Promise<Probed[]> {
  const probed: Probed[] = []
  for (const probe of probes) {
    const said = await follow(visit, probe)
    probed.push({ name: `${folder} ${probe.path} ${probe.mustContain ?? ''}`.trim(), fault: faultOf(probe, said) })
  }
  return probed
}

/** As `fetch` does, unless the probe wants the redirect itself. */
async function follow(visit: Visit, { path, headers = {}, fetchOptions }: Probe): Promise<EdgeReply> {
  let said = await visit(path, headers)
  let at = path
  for (let hops = 0; hops < MOST_REDIRECTS && fetchOptions?.redirect !== 'manual'; hops++) {
    const { location } = said.headers
    if (location === undefined) break
    const { pathname, search } = new URL(location, new URL(at, 'http://site.example'))
    at = pathname + search
    said = await visit(at, headers)
  }
  return said
}

function faultOf(probe: Probe, { status, headers, text }: EdgeReply): string | undefined {
  const wanted = probe.mustContain?.replaceAll(MARK, MARKED)
  if (probe.status !== undefined ? status !== probe.status : wanted === undefined && status >= 400)
    return `status ${status}`
  if (wanted !== undefined && !text.includes(wanted)) return `${status} without ${wanted}: ${text.slice(0, 200)}`
  if (probe.mustNotContain !== undefined && text.includes(probe.mustNotContain)) return `has ${probe.mustNotContain}`
  for (const [name, value] of Object.entries(probe.responseHeaders ?? {}))
    if (headers[name.toLowerCase()] !== value) return `${name}: ${headers[name.toLowerCase()]}`
  return undefined
}
