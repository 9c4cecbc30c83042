/** The domains of a project, with their verification records. docs/moving-in.md: Domains. */
import { isDeepStrictEqual } from 'node:util'
import { type AccountImportPlan, type AccountImportReport, failuresOf, type Step } from './plan.ts'
import type { ServerItem } from './schemas.ts'
import { type Server, segment } from './server.ts'
import type { Slugs } from './variables.ts'

type Side = { domains: readonly ServerItem[]; slugs: Slugs }
/** The destination of a domain, as sent to the target. */
type Routing = {
  gitBranch: string | null
  redirect: string | null
  redirectStatusCode: number | null
  customEnvironmentId: string | null
}

/** Returns the domains of a project of a server. */
export function readDomains(server: Server, project: string): Promise<ServerItem[]> {
  return Array.fromAsync(server.list([`/v9/projects/${segment(project)}/domains?limit=100`], 'domains'))
}

/** Plans the domains, redirects after their destinations. */
export function planDomains(here: Server, project: string, from: Side, to: Side): AccountImportPlan {
  const plan: AccountImportPlan = { steps: [], same: {}, todo: [] }
  const present = new Map(to.domains.map((domain) => [domain.name, domain]))
  const sorted = from.domains.toSorted((a, b) => Number(Boolean(a.redirect)) - Number(Boolean(b.redirect)))
  for (const item of sorted) {
    const found = present.get(item.name)
    const target = routingOf(item, from.slugs)
    plan.todo.push(...recordsOf(found))
    if (found === undefined) plan.steps.push(creation(here, project, item.name, target))
    else if (isSame(target, routingOf(found, to.slugs))) plan.same.domain = (plan.same.domain ?? 0) + 1
    else plan.steps.push(change(here, project, item.name, target))
  }
  return plan
}

function creation(here: Server, project: string, name: string, target: Routing): Step {
  const path = `/v10/projects/${segment(project)}/domains`
  return stepOf('create', project, name, async (report) => {
    const made = await here.write('POST', path, { name, ...target })
    report.todo.push(...recordsOf(made as ServerItem))
  })
}

function change(here: Server, project: string, name: string, target: Routing): Step {
  const path = `/v9/projects/${segment(project)}/domains/${segment(name)}`
  return stepOf('change', project, name, () => here.write('PATCH', path, target))
}

function stepOf(
  action: Step['action'],
  project: string,
  name: string,
  write: (report: AccountImportReport) => Promise<unknown>,
): Step {
  const what = `${project}: ${name}`
  return { kind: 'domain', action, names: [what], run: (report) => failuresOf(what, () => write(report)) }
}

/** The DNS record of a domain that the target has not verified yet. */
function recordsOf(domain: ServerItem | undefined): string[] {
  if (domain === undefined || domain.verified !== false) return []
  const [record] = domain.verification as [ServerItem]
  return [`set the ${record.type} record ${record.domain} to "${record.value}", then verify the domain ${domain.name}`]
}

/** A redirect without a status on the source has the default on the target. */
function isSame(target: Routing, present: Routing): boolean {
  const redirectStatusCode = target.redirectStatusCode ?? present.redirectStatusCode
  return isDeepStrictEqual({ ...target, redirectStatusCode }, present)
}

function routingOf(item: ServerItem, slugs: Slugs): Routing {
  return {
    gitBranch: item.gitBranch ?? null,
    redirect: item.redirect ?? null,
    redirectStatusCode: item.redirect ? (item.redirectStatusCode ?? null) : null,
    customEnvironmentId: slugs.get(item.customEnvironmentId) ?? null,
  }
}
