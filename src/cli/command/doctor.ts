/** `berth doctor --build`: builds a small project through the running service. docs/runner.md: Try a build. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../../config.ts'
import { doctorCommand } from '../../operations/doctor/doctor.ts'
import { type Finding, findingsAbout } from '../../operations/doctor/finding.ts'
import { randomText } from '../../platform/base/ids.ts'
import { isBesideSites } from '../../platform/tls/local-certificate.ts'
import type { CommandResult, Invocation, ProgressBar } from '../command-line/command.ts'
import { callService } from './service-client.ts'

const { well, wrong } = findingsAbout('a build')
const PAGE = 'built by berth doctor'
/** The project: a file of three lines, whose build writes one page. */
const SOURCE = `{
  "scripts": { "build": "mkdir -p public && echo '${PAGE}' > public/index.html" }
}
`
const POLL_MS = 1000
/** Without a runner, nothing happens for longer. */
const MAX_QUEUED_MS = 120_000
/** The first build of a runner installs its tools. */
const MAX_BUILD_MS = 20 * 60_000
const PAGE_MS = 10_000

/** Runs the checks, and with `--build` builds a project of three lines as a client does, requests its page, and removes it. */
export function doctorOrBuild(invocation: Invocation): Promise<CommandResult> {
  const { progress } = invocation
  return doctorCommand(invocation, invocation.has('build') ? (config) => tryBuild(config, progress) : undefined)
}

type Deployment = { id: string; url: string; readyState: string; errorCode?: string; errorMessage?: string }

async function tryBuild(config: Config, progress: ProgressBar): Promise<Finding> {
  const began = performance.now()
  try {
    const name = `berth-doctor-${randomText(8).toLowerCase()}`
    const project = { name, framework: null, buildCommand: 'npm run build', outputDirectory: 'public' }
    await ask(config, 'POST', '/v10/projects', project)
    try {
      const ended = await deploy(config, name, progress)
      const seconds = Math.round((performance.now() - began) / 1000)
      if (ended.readyState !== 'READY') return failureOf(ended)
      return await findPage(config, ended, seconds)
    } finally {
      progress.end()
      await ask(config, 'DELETE', `/v9/projects/${name}`)
    }
  } catch (error) {
    return wrong((error as Error).message)
  }
}

function ask(config: Config, method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<unknown> {
  return callService(config, { method, path, as: 'client', ...(body !== undefined && { body }) })
}

/** Returns the deployment once it has ended, or waited too long. */
async function deploy(config: Config, name: string, progress: ProgressBar): Promise<Deployment> {
  const files = [{ file: 'package.json', data: SOURCE }]
  let seen = (await ask(config, 'POST', '/v13/deployments', { name, files })) as Deployment
  const began = performance.now()
  for (;;) {
    const passedMs = performance.now() - began
    const max = seen.readyState === 'QUEUED' ? MAX_QUEUED_MS : MAX_BUILD_MS
    if (['READY', 'ERROR', 'CANCELED'].includes(seen.readyState) || passedMs > max) return seen
    progress.show(seen.readyState.toLowerCase(), passedMs, MAX_BUILD_MS)
    await sleep(POLL_MS)
    seen = (await ask(config, 'GET', `/v13/deployments/${seen.id}`)) as Deployment
  }
}

function failureOf({ readyState, errorCode, errorMessage }: Deployment): Finding {
  if (readyState === 'QUEUED')
    return wrong(
      'no runner took it within two minutes',
      'berth runner list shows whether one asks, or all are busy; docs/runner.md',
    )
  if (errorCode === undefined) return wrong(`it is ${readyState} after 20 minutes`, 'the log of the runner says more')
  return wrong(`it failed with ${errorCode}: ${errorMessage}`, 'docs/building.md, Errors; the log of the runner')
}

/** Requests the page where visitors would. */
async function findPage(config: Config, { url }: Deployment, seconds: number): Promise<Finding> {
  const { host, sites, edge } = config
  const origin = edge.sitesAddress ?? (isBesideSites(config) ? `http://${host}:${sites.port}` : undefined)
  const built = `a project of three lines was built in ${seconds} s`
  if (origin === undefined) return well(`${built}; no sites server is set up to request it from`)
  const answer = await pageAt(origin, url).catch((error: Error) => error.message)
  if (answer.includes(PAGE)) return well(`${built}, and ${origin} serves its page`)
  const advice = 'see the checks "sites server" and "names of sites", and the log of the sites server'
  return wrong(`${built}, and ${origin} does not serve its page: ${firstLine(answer)}`, advice)
}

function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0]!.slice(0, 200)
}

/** `fetch` sends no other Host header than that of the address. */
async function pageAt(origin: string, host: string): Promise<string> {
  const { request } = await import('undici')
  const { body } = await request(origin, { headers: { host }, signal: AbortSignal.timeout(PAGE_MS) })
  return body.text()
}
