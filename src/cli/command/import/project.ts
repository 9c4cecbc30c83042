/** A project, read on both sides and compared. docs/moving-in.md. */
import { ServiceError } from '../service-client.ts'
import { planDomains, readDomains } from './domains.ts'
import { type AccountImportPlan, failuresOf, type Step } from './plan.ts'
import { mustBeObject, PROJECT, type ServerItem } from './schemas.ts'
import { type Server, segment } from './server.ts'
import { manualSteps, projectChange, projectCreation, settingsDifference, toggleDifference } from './settings.ts'
import { planVariables, readVariables, type Slugs, variableSteps } from './variables.ts'

/** A project with its copied data. */
export type ProjectData = {
  project: ServerItem
  environments: ServerItem[]
  variables: ServerItem[]
  domains: ServerItem[]
  slugs: Slugs
}

const NOTHING: ProjectData['slugs'] = new Map()

/** Plans a project by its name. Undefined where the source no longer has it. */
export async function planProject(there: Server, here: Server, name: string): Promise<AccountImportPlan | undefined> {
  const from = await readProject(there, name)
  if (from === undefined) return undefined
  const to = await readProject(here, name)
  const { settings, untaken } = settingsDifference(from.project, to?.project)
  const switches = toggleDifference(from.project, to?.project)
  const variables = await planVariables(there, name, from, to ?? { variables: [], slugs: NOTHING })
  const domains = planDomains(here, name, from, to ?? { domains: [], slugs: NOTHING })
  const isSame = Object.keys(settings).length + switches.length === 0
  const steps: Step[] = []
  if (to === undefined) steps.push(projectCreation(here, name, { settings, switches }))
  else if (!isSame) steps.push(projectChange(here, to.project, { settings, switches }))
  const environments = from.environments.filter(
    (environment) => !to?.environments.some(({ slug }) => slug === environment.slug),
  )
  steps.push(...environments.map((environment) => environmentStep(here, name, environment)))
  steps.push(...variableSteps(here, name, variables), ...domains.steps)
  return {
    steps,
    same: {
      project: to !== undefined && isSame ? 1 : 0,
      environment: from.environments.length - environments.length,
      variable: variables.same,
      domain: domains.same.domain ?? 0,
    },
    todo: [
      ...manualSteps(from.project, to?.project),
      ...untaken,
      ...variables.unread.map((variable) => `${name}: set the value of ${variable}, which cannot be read there`),
      ...domains.todo,
    ],
  }
}

/** Returns a project, or undefined where the server does not have it. */
export async function readProject(server: Server, name: string): Promise<ProjectData | undefined> {
  const path = `/v9/projects/${segment(name)}`
  const found = await server.find(path)
  if (found === undefined) return undefined
  const project = mustBeObject(`${server.origin}${path}`, found, PROJECT)
  try {
    const [environments, variables, domains] = await Promise.all([
      readEnvironments(server, name),
      readVariables(server, name),
      readDomains(server, name),
    ])
    return { project, environments, variables, domains, slugs: new Map(environments.map(({ id, slug }) => [id, slug])) }
  } catch (error) {
    // The project was deleted meanwhile; or the server has no such list, which must not count as an empty one.
    if (error instanceof ServiceError && error.status === 404 && (await server.find(path)) === undefined)
      return undefined
    throw error
  }
}

/** Returns the projects of the account, page by page. */
export function projectsIn(server: Server): AsyncGenerator<ServerItem> {
  return server.list(['/v9/projects?limit=20', '/v10/projects?limit=20'], 'projects')
}

function readEnvironments(server: Server, name: string): Promise<ServerItem[]> {
  const path = `/v9/projects/${segment(name)}/custom-environments`
  return Array.fromAsync(server.list([path], 'environments', 'absent'))
}

function environmentStep(here: Server, project: string, { slug, description, branchMatcher }: ServerItem): Step {
  const what = `${project}: ${slug}`
  const path = `/v9/projects/${segment(project)}/custom-environments`
  const body = { slug, ...(description && { description }), ...(branchMatcher && { branchMatcher }) }
  return {
    kind: 'environment',
    action: 'create',
    names: [what],
    run: () => failuresOf(what, () => here.write('POST', path, body)),
  }
}
