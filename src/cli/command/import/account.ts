/** Account data outside projects: webhooks, log drains, members. docs/moving-in.md: Accounts. */
import { type AccountImportPlan, type AccountImportReport, type Step, tryRequest } from './plan.ts'
import { projectsIn } from './project.ts'
import type { ServerItem } from './schemas.ts'
import { type Server, segment } from './server.ts'

/** Project names by their ids on the source and target. */
type Names = { there: ReadonlyMap<string, string>; here: ReadonlyMap<string, string> }

/** Plans the import of an account. */
export async function planAccount(there: Server, here: Server): Promise<AccountImportPlan> {
  const names = { there: await namesOf(there), here: await namesOf(here) }
  const plans = [
    await planEndpoints(there, here, names, WEBHOOKS),
    await planEndpoints(there, here, names, DRAINS),
    await planMembers(there, here),
    await sharedVariables(there),
  ]
  return {
    steps: plans.flatMap(({ steps }) => steps),
    same: Object.assign({}, ...plans.map(({ same }) => same)),
    todo: plans.flatMap(({ todo }) => todo),
  }
}

async function namesOf(server: Server): Promise<Map<string, string>> {
  return new Map(await Array.fromAsync(projectsIn(server), ({ id, name }): [string, string] => [id, name]))
}

/** Webhooks and log drains are copied alike. */
type Endpoints = {
  kind: 'webhook' | 'drain'
  path: string
  list: string
  /** The copied fields, without projects. */
  bodyOf(item: ServerItem): ServerItem
  called(body: ServerItem): string
  /** Sets the projects, `undefined` for all. */
  withProjects(body: ServerItem, projectIds: string[] | undefined): ServerItem
  secretIn(made: ServerItem): string | undefined
}

const WEBHOOKS: Endpoints = {
  kind: 'webhook',
  path: '/v1/webhooks',
  list: 'webhooks',
  bodyOf: ({ url, events }) => ({ url, events: [...(events ?? [])].sort() }),
  called: ({ url }) => url,
  withProjects: (body, projectIds) => ({ ...body, ...(projectIds && { projectIds }) }),
  secretIn: ({ secret }) => secret,
}
const DRAINS: Endpoints = {
  kind: 'drain',
  path: '/v1/drains',
  list: 'drains',
  bodyOf: ({ name, delivery, filterV2, sampling, schemas }) => ({
    name,
    delivery: { type: delivery?.type, endpoint: delivery?.endpoint, encoding: delivery?.encoding },
    schemas: schemas ?? { log: { version: 'v1' } },
    ...(filterV2 && { filter: withoutProjects(filterV2) }),
    ...(sampling && { sampling }),
  }),
  called: ({ name, delivery }) => `${name} (${delivery.endpoint})`,
  withProjects: (body, projectIds) => ({
    ...body,
    projects: projectIds === undefined ? 'all' : 'some',
    ...(projectIds && { projectIds }),
  }),
  secretIn: ({ delivery }) => delivery?.secret,
}

function withoutProjects({ version, filter }: ServerItem): ServerItem {
  const { project: _, ...rest } = filter ?? {}
  return { version, filter: rest }
}

/** Endpoints of users: those of an installation come with it. */
async function planEndpoints(
  there: Server,
  here: Server,
  names: Names,
  endpoints: Endpoints,
): Promise<AccountImportPlan> {
  const plan: AccountImportPlan = { steps: [], same: {}, todo: [] }
  const present = new Set<string>()
  for await (const item of here.list([endpoints.path], endpoints.list))
    present.add(placeOf(endpoints, item, names.here))
  for await (const item of there.list([endpoints.path], endpoints.list, 'absent')) {
    if (item.configurationId || item.source?.kind === 'integration') continue
    const body = endpoints.bodyOf(item)
    if (present.has(placeOf(endpoints, item, names.there))) {
      plan.same[endpoints.kind] = (plan.same[endpoints.kind] ?? 0) + 1
      continue
    }
    const projects = projectsOf(item, names.there)
    plan.steps.push(endpointStep(here, endpoints, body, projects))
    if (Object.keys(item.delivery?.headers ?? {}).length > 0)
      plan.todo.push(`drain ${endpoints.called(body)}: set its headers by hand, whose values cannot be read there`)
  }
  return plan
}

/** Names of projects. Undefined: all of the account. */
function projectsOf({ projectIds }: ServerItem, names: ReadonlyMap<string, string>): string[] | undefined {
  return projectIds?.map((id: string) => names.get(id) ?? id).sort()
}

function placeOf(endpoints: Endpoints, item: ServerItem, names: ReadonlyMap<string, string>): string {
  return JSON.stringify([endpoints.bodyOf(item), projectsOf(item, names)])
}

function endpointStep(here: Server, endpoints: Endpoints, body: ServerItem, projects: string[] | undefined): Step {
  const { kind, path, called, withProjects, secretIn } = endpoints
  const what = `${kind} ${called(body)}`
  const run = async (report: AccountImportReport) => {
    const ids = await Promise.all((projects ?? []).map((name) => idOf(here, name)))
    const found = ids.filter((id) => id !== undefined)
    if (projects !== undefined && found.length < projects.length)
      return [{ what, message: `it is for the projects ${projects.join(', ')}, one of them is not here` }]
    const made = await tryRequest(() => here.write('POST', path, withProjects(body, projects && found)))
    if (!('answer' in made)) return [{ what, message: made.message }]
    const secret = secretIn(made.answer as ServerItem)
    report.todo.push(`${what}: give its receiver the new secret${secret === undefined ? '' : ` ${secret}`}`)
    return []
  }
  return { kind, action: 'create', names: [called(body)], run }
}

async function idOf(here: Server, name: string): Promise<string | undefined> {
  const project = (await here.find(`/v9/projects/${segment(name)}`)) as ServerItem | undefined
  return project?.id
}

/** Members are invited, and join when they accept. A personal account has no members. */
async function planMembers(there: Server, here: Server): Promise<AccountImportPlan> {
  const plan: AccountImportPlan = { steps: [], same: {}, todo: [] }
  if (there.team === undefined) return plan
  const path = ({ team }: Server) => `/v2/teams/${segment(team!)}/members?limit=100`
  const present = new Set<string>()
  if (here.team !== undefined)
    for await (const { email } of here.list([path(here)], 'members')) present.add(String(email).toLowerCase())
  for await (const { email, role, username } of there.list([path(there)], 'members', 'absent')) {
    if (typeof email !== 'string' || email === '')
      plan.todo.push(`invite ${username}, whose address cannot be read there`)
    else if (present.has(email.toLowerCase())) plan.same.member = (plan.same.member ?? 0) + 1
    else if (here.team === undefined) plan.todo.push(`${email} is a member there: a personal account has none`)
    else plan.steps.push(invitation(here, email, role))
  }
  return plan
}

function invitation(here: Server, email: string, role: string): Step {
  const run = async (report: AccountImportReport) => {
    const path = `/v1/teams/${segment(here.team!)}/members`
    const invited = await tryRequest(() => here.write('POST', path, { email, role }))
    if (!('answer' in invited)) return [{ what: `member ${email}`, message: invited.message }]
    const { inviteUrl } = invited.answer as ServerItem
    if (inviteUrl) report.todo.push(`hand ${email} the invitation: ${inviteUrl}`)
    return []
  }
  return { kind: 'member', action: 'create', names: [`${email} (${role})`], run }
}

async function sharedVariables(there: Server): Promise<AccountImportPlan> {
  const todo: string[] = []
  for await (const { key } of there.list(['/v1/env'], 'data', 'absent'))
    todo.push(`make the shared variable ${key} by hand, and give it to its projects`)
  return { steps: [], same: {}, todo }
}
