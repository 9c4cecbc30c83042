/** A domain of a project: what its row means to events and to visitors. */
import type { Row } from '../platform/db/schema.ts'

export const REDIRECT_CODES = [301, 302, 307, 308] as const
type RedirectCode = (typeof REDIRECT_CODES)[number]

/** What every event of a domain tells. */
export function showEvent(project: Pick<Row<'project'>, 'id' | 'name'>, row: Row<'project_domain'>) {
  return { project: { id: project.id, name: project.name }, domain: showRouting(row) }
}

/** A domain as events tell it: without its challenge. */
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

/** What the edge answers: 307 where a redirect says no code. */
export function redirectCodeOf(row: Pick<Row<'project_domain'>, 'redirect' | 'redirect_status_code'>) {
  const code = row.redirect_status_code as RedirectCode | null
  return row.redirect === null ? null : (code ?? 307)
}
