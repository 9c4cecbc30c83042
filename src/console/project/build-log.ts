/** The log of a build on the page of its deployment, why the build failed, and its actions. docs/console.md: Project pages. */
import type { Static } from 'typebox'
import type { BuildEvents, Builds } from '../../delivery/builds/events.ts'
import { icon } from '../../platform/pages/face/icons.ts'
import { glyph } from '../../platform/pages/face/states.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../platform/pages/screen.ts'
import type { Deployment } from '../../projects/deployments/schema.ts'
import { copyButton } from '../controls.ts'
import { canInAccount, deploymentPath, findAccountOfPath } from '../frame.ts'
import { clockTime } from '../time.ts'

/** Newest lines of a log on a page, and characters of them: a build or a request may have written megabytes. */
const LINES = 500
const CHARACTERS = 100_000
/** Color and style sequences, which only a terminal shows. */
const STYLES = /\x1b\[[0-9;]*m/g

/** Without script, the page reloads while a build runs. */
export const RELOAD_SECONDS = 2

/** Most calls for a file, of 10,000 lines each. */
const FILE_CALLS = 20

export const buildLogScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: '/console/t/:slug/projects/:name/deployments/:id/log/export',
    name: 'downloadBuildLog',
    calls: ['getDeploymentEvents'],
    run: downloadLog,
  }),
]

/** The log as text, a line each with its time. */
async function downloadLog(ctx: ConsoleCtx, { params }: ScreenInput) {
  const account = await findAccountOfPath(ctx, params)
  const lines = new Map<string, string>()
  let since: number | undefined
  for (let call = 0; call < FILE_CALLS; call++) {
    const events = await ctx.callRoute<Static<typeof BuildEvents>>('getDeploymentEvents', {
      account,
      params: { idOrUrl: params.id! },
      query: { direction: 'forward', since: since === undefined ? undefined : String(since) },
    })
    const before = lines.size
    for (const event of events)
      if (event.type !== 'deployment-state')
        lines.set(event.serial, `${new Date(event.date).toISOString()} ${withoutStyles(event.text)}\n`)
    // Lines of the same time come again.
    if (lines.size === before) break
    since = events.at(-1)?.date
  }
  const fileName = `build-${params.id!.replaceAll(/[^\w.-]|_/g, '-')}.log`
  return { download: { fileName, contentType: 'text/plain; charset=utf-8', text: [...lines.values()].join('') } }
}

/** Returns whether the build of a deployment has not ended. */
export function isRunning({ readyState }: Pick<Deployment, 'readyState'>): boolean {
  return ['QUEUED', 'INITIALIZING', 'BUILDING'].includes(readyState)
}

/** Lines of the log in the box of a failure. */
const LAST_LINES = 6
const LAST_LINE_CHARACTERS = 300

type Line = Static<typeof BuildEvents>[number]

/** The newest lines of a log, and its card. */
export type BuildLog = { lines: readonly Line[]; card: Html }

/** Renders why a build failed: its last lines, with a link to the line that says it, or to the page of the outside build. Undefined for a deployment that did not fail. */
export function failureNotice(
  { readyState, errorCode, errorMessage, target, meta }: Deployment,
  lines: readonly Line[],
): Html | undefined {
  if (readyState !== 'ERROR') return undefined
  const fatal = lines.findLast(({ type }) => type === 'fatal') ?? lines.at(-1)
  const command = lines.findLast(({ type }) => type === 'command')
  const elsewhere = lines.length === 0 ? Object.values(meta).find(isUrl) : undefined
  const last = lines.filter(({ type }) => type !== 'fatal').slice(-LAST_LINES)
  return html`<section class="note bad failure" aria-labelledby="why">${glyph('bad')}<div class="grow stack tight"><h2 id="why">Build failed</h2>
<p>${errorMessage ? withoutStyles(errorMessage) : 'The build system reported no reason.'}</p>
${command && html`<p>Last step: <code class="any">${withoutStyles(command.text)}</code></p>`}
${last.length > 0 && html`<div class="code"><pre>${last.map(({ text }) => `${excerptOf(text)}\n`).join('')}</pre>${copyButton('last lines')}</div>`}
<div class="line">${fatal && html`<a class="btn small" href="#L${lineNumber(fatal)}" data-turbo="false">${icon('arrow-right')}Go to line ${lineNumber(fatal)}</a>`}${elsewhere && html`<a class="btn small" href="${elsewhere}" rel="noreferrer">Open ${new URL(elsewhere).host}${icon('arrow-up-right')}</a>`}<span class="small soft">${errorCode && `${errorCode} · `}${target === 'production' ? 'What was live stays live.' : 'Production is not affected.'}</span></div></div></section>`
}

/** Returns whether a text of the meta is a URL, as of the log of an outside build. */
export function isUrl(text: string): boolean {
  return /^https?:\/\/\S+$/.test(text) && URL.canParse(text)
}

/** A box that scrolls would hide the last line, which matters most, so a long line is cut. The log has all of it. */
function excerptOf(text: string): string {
  const plain = withoutStyles(text)
  return plain.length > LAST_LINE_CHARACTERS ? `${plain.slice(0, LAST_LINE_CHARACTERS)}…` : plain
}

/** Reads the newest lines of a log. Undefined for a deployment that was not built here. */
export async function readBuildLog(
  ctx: ConsoleCtx,
  account: OwnAccount,
  project: string,
  deployment: Deployment,
): Promise<BuildLog | undefined> {
  const events = await ctx.callRoute<Static<typeof BuildEvents>>('getDeploymentEvents', {
    account,
    params: { idOrUrl: deployment.id },
    query: { direction: 'backward', limit: String(LINES) },
  })
  if (events.some(({ type }) => type === 'deployment-state')) return undefined
  const lines = newestLines(events.toReversed())
  return { lines, card: logCard(deployment, lines, deploymentPath(account, project, deployment.id)) }
}

/** Returns the newest lines, as many as a page shows of a log. */
export function newestLines<L extends { text: string }>(lines: readonly L[]): readonly L[] {
  let left = CHARACTERS
  const cut = lines.findLastIndex(({ text }, at) => {
    left -= text.length
    return at < lines.length - LINES || left < 0
  })
  return lines.slice(cut + 1)
}

/** How long a build waited and how long it ran, in ms. Undefined: it has not ended to do so, or never did. */
export type BuildTimes = { queued: number | undefined; ran: number | undefined }

/** Reads the times of a build; of the last attempt where its runner was lost. Empty for a deployment that was not built here. */
export async function readBuildTimes(
  ctx: ConsoleCtx,
  account: OwnAccount,
  deployment: Deployment,
): Promise<BuildTimes> {
  const { builds } = await ctx.callRoute<Static<typeof Builds>>('listDeploymentBuilds', {
    account,
    params: { id: deployment.id },
  })
  const [{ createdAt = 0, scheduledAt, readyStateAt = 0 } = {}] = builds
  const endedAt = builds.length > 0 && !isRunning(deployment) ? readyStateAt : undefined
  const until = scheduledAt ?? endedAt
  return {
    queued: until === undefined ? undefined : until - createdAt,
    ran: scheduledAt === undefined || endedAt === undefined ? undefined : endedAt - scheduledAt,
  }
}

/** The lines stand in a frame that grows while the build runs. Searching, "Errors only" and "Follow" stand outside of it and stay. */
function logCard(deployment: Deployment, lines: readonly Line[], path: string): Html {
  const running = isRunning(deployment)
  const hidden = Number(lines[0]?.serial ?? 0)
  const errors = lines.filter(isError).length
  return html`<section class="card log" aria-labelledby="log"><header><h2 id="log">Build log</h2>
<span class="find log-find" data-log-tool>${icon('search')}<input type="search" aria-label="Search the log" placeholder="Search log" id="log-search" data-log-search data-turbo-permanent autocomplete="off" spellcheck="false"></span>
<label class="choice"><input type="checkbox" id="log-errors" name="errors" data-turbo-permanent>Errors only${errors > 0 && html` <span class="badge bad">${errors}</span>`}</label>
${running && html`<label class="choice" data-log-tool><input type="checkbox" id="log-follow" data-log-follow data-turbo-permanent checked>Follow</label>`}
<span class="line tight end"><button class="btn quiet small" type="button" data-log-tool data-log-copy>${icon('copy')}<span>Copy</span></button><a class="btn quiet small" href="${path}/log/export" data-turbo="false">${icon('download')}Download</a></span></header>
<turbo-frame id="build-log"${running && html` src="${path}" complete data-reload`}>
${hidden > 0 && html`<p class="soft small in">The ${lines.length} newest lines. <a href="${path}/log/export" data-turbo="false">Download all</a></p>`}
${lines.length === 0 ? html`<p class="soft in">${running ? 'Waiting for the first line.' : 'No lines.'}</p>` : html`<ol start="${String(hidden + 1)}">${lines.map(lineOf)}</ol>`}
<span id="last"></span></turbo-frame></section>`
}

function lineOf(line: Line): Html {
  const number = lineNumber(line)
  const look = isError(line) ? 'error' : line.type === 'command' ? 'step' : ''
  return html`<li id="L${number}"${look !== '' && html` class="${look}"`}><a href="#L${number}" data-turbo="false" aria-label="Line ${number}">${number}</a>${clockTime(line.date)}<span>${withoutStyles(line.text)}</span></li>`
}

/** How a line begins that is an error, and what else only errors say. A file may have such a name. */
const ERROR =
  /^(?:npm )?\W*(?:[a-z]*error|fatal|failed)\b(?![-./])|\b[a-z]*error(?::| TS\d)|\bERR[!_]|\bexit(?:ed with)?(?: code)? [1-9]/i

/** The output of a build is one stream, so the words of a line say what it is. */
function isError({ type, text }: Line): boolean {
  return type === 'fatal' || (type !== 'command' && ERROR.test(withoutStyles(text)))
}

function lineNumber({ serial }: Line): string {
  return String(Number(serial) + 1)
}

/** Removes the colors and styles of a terminal from a text. */
export function withoutStyles(text: string): string {
  return text.replaceAll(STYLES, '')
}

/** Renders Cancel while a build runs, and Redeploy once it has ended, which asks first for production. Undefined where the caller may not. */
export function buildActions(
  ctx: ConsoleCtx,
  account: OwnAccount,
  project: string,
  deployment: Deployment,
): Html | undefined {
  if (!canInAccount(account, 'project:write', 'deployment:write')) return undefined
  const [verb, words] = isRunning(deployment) ? ['cancel', 'Cancel'] : ['redeploy', 'Redeploy']
  if (verb === 'redeploy' && deployment.target === 'production')
    return html`<a class="btn" href="${deploymentPath(account, project, deployment.id, verb)}">${icon('rotate-ccw')}${words}…</a>`
  return html`<form method="post" action="${deploymentPath(account, project, deployment.id, verb)}">${csrfFields(ctx)}<button class="btn">${isRunning(deployment) ? icon('x') : icon('rotate-ccw')}${words}</button></form>`
}
