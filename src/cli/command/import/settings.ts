/** The copied parts of a project: settings, link, and toggles with a request of their own. docs/moving-in.md: Projects. */
import { isDeepStrictEqual } from 'node:util'
import { SettingsBody } from '../../../model/project-settings.ts'
import { pickDeclared, validate } from '../../../platform/http/validate.ts'
import { type AccountImportReport, type Failure, failuresOf, type Step, sendBisecting, tryRequest } from './plan.ts'
import type { ServerItem } from './schemas.ts'
import { type Server, segment } from './server.ts'

/** TABLE Settings that are not copied: they name users and objects of the other server. */
const NOT_COPIED = new Set([
  'autoAssignCustomDomainsUpdatedBy',
  'connectConfigurations',
  'dismissedToasts',
  'skipGitConnectDuringLink',
])
const SETTINGS = Object.entries(SettingsBody.properties).filter(
  ([name, schema]) => !NOT_COPIED.has(name) && !('x-unsupported' in schema),
)
/** TABLE Periods of `deploymentExpiration` in days, and their values. */
const PERIODS: Readonly<Record<number, string>> = {
  1: '1d',
  7: '1w',
  30: '1m',
  60: '2m',
  90: '3m',
  180: '6m',
  365: '1y',
  36500: 'unlimited',
}
const EXPIRATIONS = {
  expirationDays: 'expiration',
  expirationDaysProduction: 'expirationProduction',
  expirationDaysCanceled: 'expirationCanceled',
  expirationDaysErrored: 'expirationErrored',
}

type Settings = Record<string, unknown>

/** Returns the different settings, and those that this Berth does not support. `present`: the project here, if any. */
export function settingsDifference(
  project: ServerItem,
  present: ServerItem | undefined,
): { settings: Settings; untaken: string[] } {
  const [settings, untaken]: [Settings, string[]] = [{}, []]
  for (const [name, schema] of SETTINGS) {
    const value = settingOf(project, name)
    const there = present && settingOf(present, name)
    if (value === undefined || (value === null && (there ?? null) === null)) continue
    try {
      const kept = pickDeclared(schema, validate(schema, value))
      if (!isDeepStrictEqual(kept, there)) settings[name] = kept
    } catch (error) {
      untaken.push(`${project.name}: set ${name} by hand; ${(error as Error).message}`)
    }
  }
  return { settings, untaken }
}

/** A setting of a project. The default region in the resources of a project is not a setting. */
function settingOf(project: ServerItem, name: string): unknown {
  const value = project[name]
  if (name !== 'resourceConfig' || project.serverlessFunctionRegion !== null) return value
  const { functionDefaultRegions: _, ...resources } = value ?? {}
  return resources
}

/** A part of a project with a request of its own. */
type Switch = { name: string; send(here: Server, id: string): Promise<unknown> }

/** Returns the different toggles. One that is on only here stays on. */
export function toggleDifference(project: ServerItem, present: ServerItem | undefined): Switch[] {
  const switches: Switch[] = []
  const add = (name: string, method: 'POST' | 'PATCH', path: (id: string) => string, body?: object) =>
    switches.push({ name, send: (here, id) => here.write(method, path(segment(id)), body) })
  const { link, crons } = project
  if (link && !present?.link)
    add('link', 'POST', (id) => `/v9/projects/${id}/link`, { type: link.type, repo: repoOf(link) })
  if (link?.productionBranch && link.productionBranch !== (present?.link?.productionBranch ?? 'main'))
    add('productionBranch', 'PATCH', (id) => `/v9/projects/${id}/branch`, { branch: link.productionBranch })
  if (project.dataCache?.userDisabled === true && present?.dataCache?.userDisabled !== true)
    add('dataCache', 'PATCH', (id) => `/v1/data-cache/projects/${id}`, { disabled: true })
  const isOff = (value: ServerItem | undefined) => value !== undefined && value.disabledAt !== null
  if (isOff(crons) && !isOff(present?.crons))
    add('crons', 'PATCH', (id) => `/v1/projects/${id}/crons`, { enabled: false })
  const periods = periodsOf(project)
  if (periods !== undefined && !isDeepStrictEqual(periods, present && periodsOf(present)))
    add('deploymentExpiration', 'PATCH', (id) => `/v9/projects/${id}/deployment-expiration`, periods)
  if (project.paused === true && present?.paused !== true) add('paused', 'POST', (id) => `/v1/projects/${id}/pause`)
  return switches
}

/** The repository for a request. */
function repoOf({
  type,
  org,
  repo,
  projectNamespace,
  projectNameWithNamespace,
  projectUrl,
  owner,
  slug,
}: ServerItem): string {
  if (type === 'gitlab')
    return projectUrl ? new URL(projectUrl).pathname.slice(1) : `${projectNamespace}/${projectNameWithNamespace}`
  return type === 'bitbucket' ? `${owner}/${slug}` : `${org}/${repo}`
}

function periodsOf({ deploymentExpiration }: ServerItem): Record<string, string> | undefined {
  const pairs = Object.entries(EXPIRATIONS)
    .map(([days, name]) => [name, PERIODS[deploymentExpiration?.[days]]])
    .filter((pair): pair is [string, string] => pair[1] !== undefined)
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs)
}

/** Returns the parts of a project that the user must copy manually. */
export function manualSteps(project: ServerItem, present: ServerItem | undefined): string[] {
  const { name, passwordProtection, protectionBypass } = project
  const left: string[] = []
  if (passwordProtection && !present?.passwordProtection)
    left.push(`${name}: set a password by hand; until then no password protects it here`)
  if (Object.keys(protectionBypass ?? {}).length > 0 && Object.keys(present?.protectionBypass ?? {}).length === 0)
    left.push(`${name}: make a new secret that bypasses its protection, and give it to whatever used the other one`)
  return left
}

type Changes = { settings: Settings; switches: readonly Switch[] }

/** Returns the step that creates a project. */
export function projectCreation(here: Server, name: string, { settings, switches }: Changes): Step {
  const run = async (report: AccountImportReport): Promise<Failure[]> => {
    const all = await tryRequest(() => here.write('POST', '/v10/projects', { name, ...settings }))
    const made = 'answer' in all ? all : await tryRequest(() => here.write('POST', '/v10/projects', { name }))
    if (!('answer' in made)) return [{ what: name, message: made.message }]
    if (made !== all) report.failed.push(...(await putSettings(here, name, settings)))
    report.failed.push(...(await flip(here, { name, id: (made.answer as ServerItem).id }, switches)))
    return []
  }
  return { kind: 'project', action: 'create', names: [name], run }
}

/** Returns the step that updates an existing project. */
export function projectChange(here: Server, { name, id }: ServerItem, { settings, switches }: Changes): Step {
  const differing = [...Object.keys(settings), ...switches.map((option) => option.name)]
  const run = async (report: AccountImportReport): Promise<Failure[]> => {
    report.failed.push(...(await putSettings(here, name, settings)), ...(await flip(here, { name, id }, switches)))
    return []
  }
  return { kind: 'project', action: 'change', names: [`${name} (${differing.join(', ')})`], run }
}

/** Sends all at once, or those that are accepted. */
function putSettings(here: Server, project: string, settings: Settings): Promise<Failure[]> {
  const path = `/v9/projects/${segment(project)}`
  const what = ([name]: [string, unknown]) => `${project}: ${name}`
  return sendBisecting(Object.entries(settings), what, async (sent) => {
    await here.write('PATCH', path, Object.fromEntries(sent))
    return []
  })
}

async function flip(here: Server, { name, id }: ServerItem, switches: readonly Switch[]): Promise<Failure[]> {
  const failed: Failure[] = []
  for (const option of switches) {
    failed.push(...(await failuresOf(`${name}: ${option.name}`, () => option.send(here, id))))
  }
  return failed
}
