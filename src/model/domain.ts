import type { Row } from '../platform/db/schema.ts'

export const REDIRECT_CODES = [301, 302, 307, 308] as const
type RedirectCode = (typeof REDIRECT_CODES)[number]

/** Returns the common payload of domain events. */
export function showEvent(project: Pick<Row<'project'>, 'id' | 'name'>, row: Row<'project_domain'>) {
  return { project: { id: project.id, name: project.name }, domain: showRouting(row) }
}

/** Returns a domain for events, without its challenge. */
export function showRouting(row: Row<'project_domain'>) {
  return {
    name: row.name,
    apexName: row.apex_name,
    verified: row.verified_at !== null,
    gitBranch: row.git_branch,
    customEnvironmentId: row.custom_environment_id,
    redirect: row.redirect,
    redirectStatusCode: redirectCodeOf(row),
  }
}

/** Returns the status code of a redirect, 307 by default. */
function redirectCodeOf(row: Pick<Row<'project_domain'>, 'redirect' | 'redirect_status_code'>) {
  const code = row.redirect_status_code as RedirectCode | null
  return row.redirect === null ? null : (code ?? 307)
}
