/** Links a project to a repository, with its webhook. docs/spec/decisions.md: Projects, Repositories; docs/git-links.md. */
import { hash } from 'node:crypto'
import type { Ctx, Input } from '../../context.ts'
import type { RefusalKey } from '../../errors.ts'
import { type GitRepository, linkOf, type StoredLink } from '../../model/link.ts'
import { isNameTaken, mustBeName } from '../../model/project-name.ts'
import type { GitResult, Provider } from '../../platform/adapters/git.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { readCredential } from './credentials.ts'

export const CONNECT_REFUSALS = ['gitlab_webhook_failed', 'bitbucket_webhook_failed'] as const satisfies RefusalKey[]

/** A repository ready to link. Its webhook exists, and is removed if the project is not written. */
export type ConnectedRepository = {
  repo: string
  repoId: string
  repoUrl: string
  link: Omit<StoredLink, 'createdAt' | 'updatedAt'>
  undo: () => Promise<GitResult<true>>
}

/** Connects the repository of a new project. Refuses: invalid_project_name 400, project_name_taken 409, CONNECT_REFUSALS 400, bad_request 400. */
export async function connectNewProject(
  ctx: Ctx,
  _: undefined,
  { body }: Input<unknown, { name: string; gitRepository?: GitRepository | null }>,
): Promise<ConnectedRepository | undefined> {
  if (!body.gitRepository) return undefined
  mustBeName(body.name)
  if (await isNameTaken(ctx, ctx.account.id, body.name)) {
    refuse('project_name_taken', `A project named "${body.name}" already exists.`)
  }
  return connectRepository(ctx, body.gitRepository, async () => {})
}

/** Removes the webhook of a failed request, best effort. */
export async function undoConnect(ctx: Ctx, connected: ConnectedRepository | undefined): Promise<void> {
  const result = await connected?.undo()
  if (result && 'fault' in result) ctx.deps.log.warn({ fault: result.fault }, 'an unused webhook was not removed')
}

/** Returns the columns of a project link. */
export function linkColumns(ctx: Pick<Ctx, 'now'>, { repo, repoId, repoUrl, link }: ConnectedRepository) {
  const stored: StoredLink = { ...link, createdAt: ctx.now, updatedAt: ctx.now }
  // Filters are case-insensitive, as repository names are. The link keeps the case for display.
  const columns = { repo: repo.toLowerCase(), repo_id: repoId, repo_url: repoUrl.toLowerCase() }
  return { ...columns, link_json: JSON.stringify(stored) }
}

/** Removes the webhook of a link, best effort: an unavailable provider does not block the request. */
export async function removeWebhook(ctx: Ctx, project: Row<'project'>): Promise<void> {
  const link = linkOf(project)
  if (link?.hook === undefined) return
  const provider = link.type as Provider
  const credential = await readCredential(ctx, project.account_id, provider)
  if (credential === undefined) return
  const result = await ctx.deps.adapters.git[provider].removeHook(credential.access, link.hook.path, link.hook.id)
  if ('fault' in result) ctx.deps.log.warn({ provider, fault: result.fault }, 'the webhook of a link was not removed')
}

/** Refuses a production branch that the project cannot have. */
type MustBeServable = (productionBranch: string) => Promise<void>

/**
 * Reads a repository at its git host and adds a webhook there, except at GitHub. `undo` removes the webhook. Refuses: bad_request
 * 400 (`repo`), gitlab_webhook_failed and bitbucket_webhook_failed 400, and what `mustBeServable` does.
 */
export async function connectRepository(
  ctx: Ctx,
  { type, repo }: GitRepository,
  mustBeServable: MustBeServable,
): Promise<ConnectedRepository> {
  mustBeRepo(type, repo)
  if (type === 'github') return connectGithub(repo, mustBeServable)
  const failed = (fault: string) => refuse(`${type}_webhook_failed`, webhookSentence(type, repo, fault))
  const credential = await readCredential(ctx, ctx.account.id, type)
  if (credential === undefined) return failed('the account has no credential for it; the operator can set one')
  const { access, hook } = credential
  const client = ctx.deps.adapters.git[type]
  const result = await client.readRepository(access, repo)
  if ('fault' in result) return failed(result.fault)
  const { path, id, url, shown, defaultBranch: productionBranch } = result.value
  await mustBeServable(productionBranch)
  const hookResult = await client.addHook(access, path, hook)
  if ('fault' in hookResult) return failed(hookResult.fault)
  const link = { type, shown, gitCredentialId: credential.id, productionBranch, hook: { path, id: hookResult.value } }
  return { repo, repoId: id, repoUrl: url, link, undo: () => client.removeHook(access, path, hookResult.value) }
}

/** GitHub is not queried, so Berth derives the id from the name. docs/git-links.md: Numbers for GitHub. */
async function connectGithub(repo: string, mustBeServable: MustBeServable): Promise<ConnectedRepository> {
  const [org = '', name = ''] = repo.split('/')
  const repoFields = { org, repo: name, repoId: numberFor(repo), repoOwnerId: numberFor(org) }
  const link = { type: 'github', shown: repoFields, gitCredentialId: '', productionBranch: 'main' } as const
  await mustBeServable(link.productionBranch)
  const repoUrl = `https://github.com/${repo}`
  return { repo, repoId: String(repoFields.repoId), repoUrl, link, undo: async () => ({ value: true }) }
}

/** 48 bits: exact as a number in every client. */
function numberFor(name: string): number {
  return Number.parseInt(hash('sha256', `github:${name.toLowerCase()}`).slice(0, 12), 16)
}

/** Refuses: bad_request 400. GitLab supports nested groups. */
function mustBeRepo(type: GitRepository['type'], repo: string): void {
  const parts = repo.split('/')
  const wellMade = parts.every((part) => /^(?!\.{1,2}$)[\w.-]{1,255}$/.test(part)) && repo.length <= 500
  if (wellMade && (parts.length === 2 || (type === 'gitlab' && parts.length > 2 && parts.length <= 20))) return
  refuse('bad_request', 'Invalid request: `repo` should be `owner/name`.')
}

function webhookSentence(type: Provider, repo: string, fault: string): string {
  const name = type === 'gitlab' ? 'GitLab' : 'Bitbucket'
  return `The webhook for "${repo}" could not be created at ${name}: ${fault}.`
}
