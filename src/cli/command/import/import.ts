/** `berth import`: copies an account from another server with this API. docs/moving-in.md. */

import { createTrustedFetch } from '../../../operations/doctor/network/trusted-fetch.ts'
import { readText } from '../../../platform/adapters/file-errors.ts'
import { pluralize, withoutTrailing } from '../../../platform/base/text.ts'
import { BadUsage, type CommandResult, type Invocation } from '../../command-line/command.ts'
import { oneLine } from '../../command-line/print.ts'
import { clientToken, ServiceError, serviceOrigin } from '../service-client.ts'
import { planAccount } from './account.ts'
import {
  type AccountImportPlan,
  type AccountImportReport,
  addPlan,
  IMPORT_KINDS,
  newAccountImportReport,
  runPlan,
} from './plan.ts'
import { planProject, projectsIn } from './project.ts'
import { mustBeObject, PROJECT } from './schemas.ts'
import { openServer, type Server, segment, Unavailable } from './server.ts'

/** Lines per section of a plan or a report on a terminal; `--json` has all. What is left to do is never cut: no later run shows its secrets. */
const MAX_LINES = 500

type Sides = { there: Server; here: Server }

/**
 * Shows a plan, and runs it after the user confirms or with `--yes`. Identical data is skipped, so an interrupted import can be repeated. Exits with 1
 * when a request failed.
 */
export async function importAccount(invocation: Invocation): Promise<CommandResult> {
  const { has, confirm } = invocation
  const from = originOf(invocation.value('from')!)
  if (!has('dry-run') && !has('yes') && confirm === undefined)
    throw new BadUsage('there is no terminal to ask on: say --yes, or --dry-run to see the plan alone')
  const sides = await openSides(invocation, from)
  try {
    return await copy(invocation, sides)
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    const advice = 'run the same command again later, it goes on where it was'
    throw new Error(`${error.message}; ${advice}`, { cause: error.cause })
  }
}

async function copy(invocation: Invocation, sides: Sides): Promise<CommandResult> {
  const { has, confirm } = invocation
  await mustLetIn(sides)
  const names = await projectNames(sides.there, invocation)
  const plan = newAccountImportReport()
  await walk(invocation, sides, names, 'reading', async (item) => addPlan(plan, item))
  if (has('dry-run')) return outcomeOf(plan, 'would be ')
  invocation.notice(textOf(plan, 'would be '))
  if (!has('yes') && !(await confirm!('Do this?')))
    return { data: { done: false }, text: 'nothing was changed', code: 1 }
  const report = newAccountImportReport()
  try {
    await walk(invocation, sides, names, 'writing', (item) => runPlan(report, item))
  } catch (error) {
    // A new secret is shown only here: the next run finds its webhook unchanged.
    if (countLines(report, '').length > 0) invocation.notice(`Interrupted. Until then:\n${textOf(report, '')}`)
    throw error
  }
  return outcomeOf(report, '')
}

/** Plans the projects in order, then the account, and yields each plan. */
async function walk(
  { progress, value }: Invocation,
  { there, here }: Sides,
  names: readonly string[],
  part: string,
  use: (plan: AccountImportPlan) => Promise<void>,
): Promise<void> {
  for (const [at, name] of names.entries()) {
    progress.show(part, at, names.length)
    const plan = await planProject(there, here, name)
    if (plan !== undefined) await use(plan)
  }
  if (value('projects') === undefined) await use(await planAccount(there, here))
  progress.show(part, names.length, names.length)
}

async function openSides({ value, settings, notice }: Invocation, from: string): Promise<Sides> {
  const config = settings()
  const team = value('team')
  const teamHere = value('to-team') ?? team
  if (value('to-team') === undefined && team?.startsWith('team_'))
    throw new BadUsage('--team names a team by an id that only the other server knows: say the team here by --to-team')
  const there = openServer({ origin: from, token: tokenOf(value), team, say: notice })
  const origin = await serviceOrigin(config)
  const here = openServer({
    origin,
    token: clientToken(config),
    team: teamHere,
    say: notice,
    fetch: await createTrustedFetch(config),
  })
  return { there, here }
}

/** Every request contains the token, so plaintext http is only for this machine. */
function originOf(from: string): string {
  const url = URL.parse(from)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new BadUsage(`--from: ${from} is not an address: write one such as https://api.example.com`)
  const isHere = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)
  if (url.protocol === 'http:' && !isHere)
    throw new BadUsage('--from must begin with https://: the token would be readable on the way')
  if (url.username !== '' || url.search !== '' || url.hash !== '')
    throw new BadUsage('--from is the address of the API alone')
  return withoutTrailing(url.href, '/')
}

function tokenOf(value: Invocation['value']): string {
  const file = value('token-file')
  if ((value('token') === undefined) === (file === undefined)) throw new BadUsage('say one of --token and --token-file')
  const token = value('token') ?? readText(file!).trim()
  if (!/^[\x21-\x7e]+$/.test(token)) throw new BadUsage('the token is empty, or holds what no token holds')
  return token
}

/** Throws before the import where a server rejects the token, or has no such team. */
async function mustLetIn({ there, here }: Sides): Promise<void> {
  for (const server of [there, here]) {
    const { origin, team } = server
    try {
      if (team === undefined) await server.get('/v2/user')
      else await server.get(`/v2/teams/${segment(team)}`)
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      if (![401, 403, 404].includes(error.status)) throw error
      if (error.status === 404 && team === undefined)
        throw new Error(`${origin} has no user for the token: is this the address of the API?`, {
          cause: error.message,
        })
      const what = team === undefined ? 'the token' : `the token, or the team "${team}"`
      const advice =
        server === here && team !== undefined ? '; berth team add makes a team, --to-team names another one' : ''
      throw new Error(`${origin} does not take ${what}${advice}`, { cause: error.message })
    }
  }
}

/** Returns the names of the projects to copy. Throws where a requested one does not exist. */
async function projectNames(there: Server, { value }: Invocation): Promise<string[]> {
  const requested = value('projects')
    ?.split(',')
    .map((name) => name.trim())
  if (requested === undefined) {
    const names = new Set<string>()
    for await (const { name } of projectsIn(there)) names.add(name)
    return [...names]
  }
  const found: string[] = []
  for (const name of requested) {
    if (name === '') throw new BadUsage('--projects has an empty name: write names with a comma between two of them')
    const path = `/v9/projects/${segment(name)}`
    const project = await there.find(path)
    if (project === undefined) throw new BadUsage(`there is no project "${name}" at ${there.origin}`)
    found.push(mustBeObject(`${there.origin}${path}`, project, PROJECT).name)
  }
  return found
}

function outcomeOf(report: AccountImportReport, would: string): CommandResult {
  const { counts, failed, todo, changes } = report
  const data = { done: would === '', counts, failed, todo, ...(would !== '' && { changes }) }
  return { data, text: textOf(report, would), code: failed.length === 0 ? 0 : 1 }
}

/** A line for each kind with something to count. */
function countLines({ counts }: AccountImportReport, would: string): string[] {
  return IMPORT_KINDS.filter((kind) => Object.values(counts[kind]).some((count) => count > 0)).map((kind) => {
    const { created, changed, unchanged, failed } = counts[kind]
    return `${pluralize(created + changed + unchanged + failed, kind)}: ${would}created ${created}, ${would}changed ${changed}, unchanged ${unchanged}, refused ${failed}`
  })
}

function textOf(report: AccountImportReport, would: string): string {
  const { failed, todo, changes } = report
  const lines = countLines(report, would)
  if (lines.length === 0) lines.push('there is nothing to copy')
  const listed = (title: string, rows: readonly string[], max = MAX_LINES) => {
    if (rows.length === 0) return []
    const more = rows.length > max ? [`  … and ${rows.length - max} more: see --json`] : []
    return ['', title, ...rows.slice(0, max).map((row) => `  ${oneLine(row)}`), ...more]
  }
  return [
    ...lines,
    ...(would === '' ? [] : listed('Changes to what is here already:', changes)),
    ...listed(
      'Refused:',
      failed.map(({ what, message }) => `${what}: ${message}`),
    ),
    ...listed('To do by hand:', todo, would === '' ? todo.length : MAX_LINES),
  ].join('\n')
}
