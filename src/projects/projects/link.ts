/** Links a project to a repository, unlinks it, and sets its production branch. docs/git-links.md. */
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { type GitRepository, linkOf, type SetBranch, type StoredLink } from '../../model/link.ts'
import { changeProject } from '../../model/project.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { type ConnectedRepository, connectRepository, linkColumns } from '../links/connect.ts'
import { readProjectReply } from './projects.ts'
import type { Project } from './schema.ts'

/** Connects a repository before the transaction, unless it is already linked. Refuses: as `linkProject`, and CONNECT_REFUSALS. */
export async function connectProject(
  ctx: Ctx,
  project: Row<'project'>,
  { body }: Input<unknown, GitRepository>,
): Promise<ConnectedRepository | undefined> {
  if (mustBeUnlinked(project, body)) return undefined
  return connectRepository(ctx, body, (branch) => mustNotBeServed(ctx, project, branch))
}

/**
 * Links a project to a repository. Linking it again changes nothing. Refuses: already_linked 409, production_branch 400 (one of
 * its domains serves the branch), busy 503 (the former link was removed before the provider was queried).
 */
export async function linkProject(
  ctx: Ctx,
  project: Row<'project'>,
  { body }: Input<unknown, GitRepository>,
  connected: ConnectedRepository | undefined,
): Promise<Project> {
  if (mustBeUnlinked(project, body)) {
    // A concurrent request linked it, so the new webhook is removed.
    if (connected !== undefined) refuse('already_linked', 'Another request has just made this link.')
    return readProjectReply(ctx, project)
  }
  if (connected === undefined) refuse('busy')
  await mustNotBeServed(ctx, project, connected.link.productionBranch)
  return readProjectReply(ctx, await changeProject(ctx, project, linkColumns(ctx, connected)))
}

/** Unlinks a project. Without a link nothing changes. */
export async function unlinkProject(ctx: Ctx, project: Row<'project'>): Promise<Project> {
  if (project.link_json === null) return readProjectReply(ctx, project)
  const none = { repo: null, repo_id: null, repo_url: null, link_json: null }
  return readProjectReply(ctx, await changeProject(ctx, project, none))
}

/** Sets the production branch. Refuses: not_linked 400, production_branch 400 (one of its domains serves the branch). */
export async function setProductionBranch(
  ctx: Ctx,
  project: Row<'project'>,
  { body }: Input<unknown, Static<typeof SetBranch>>,
): Promise<Project> {
  const link = linkOf(project)
  if (link === undefined) refuse('not_linked')
  await mustNotBeServed(ctx, project, body.branch)
  const changed: StoredLink = { ...link, productionBranch: body.branch, updatedAt: ctx.now }
  return readProjectReply(ctx, await changeProject(ctx, project, { link_json: JSON.stringify(changed) }))
}

/** Returns true if the project is linked to this repository. Refuses: already_linked 409. */
function mustBeUnlinked(project: Row<'project'>, { type, repo }: GitRepository): boolean {
  const link = linkOf(project)
  if (link === undefined) return false
  if (link.type !== type || project.repo !== repo.toLowerCase())
    refuse('already_linked', `The project is linked to ${project.repo}. End that link first.`)
  return true
}

/** A domain without a branch serves the production branch. Refuses: production_branch 400. */
async function mustNotBeServed(ctx: Ctx, project: Row<'project'>, branch: string): Promise<void> {
  const domain = await ctx.db
    .selectFrom('project_domain')
    .select('name')
    .where('account_id', '=', project.account_id)
    .where('project_id', '=', project.id)
    .where('git_branch', '=', branch)
    .executeTakeFirst()
  if (domain === undefined) return
  const way = 'Set the gitBranch of that domain to null first.'
  refuse('production_branch', `"${branch}" is what ${domain.name} serves as a preview. ${way}`)
}
