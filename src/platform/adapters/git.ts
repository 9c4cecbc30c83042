/** REST APIs of git providers for links: read a repository, create and delete its webhook. */
import { READERS } from '../../readers.ts'
import { readAtMost } from '../fairness/bounded-body.ts'

export type Provider = 'gitlab' | 'bitbucket'

/** The address and credentials of a provider. */
export type GitAccess = { baseUrl: string; username: string | null; token: string }

export type Hook = { url: string; secret: string | null }

/** The fields of a repository in a link, per provider (docs/spec/wire.md 2.2), and the common ones. */
type Repository = {
  shown: Record<string, string | number>
  /** The provider's path for it. */
  path: string
  id: string
  url: string
  defaultBranch: string
}

/** `fault`: the reason for users, without secrets. */
export type GitResult<T> = { value: T } | { fault: string }

export type GitClient = {
  readRepository(access: GitAccess, repo: string): Promise<GitResult<Repository>>
  /** Returns the id of the hook. */
  addHook(access: GitAccess, path: string, hook: Hook): Promise<GitResult<string>>
  /** Deletes a hook; a missing one is not an error. */
  removeHook(access: GitAccess, path: string, hookId: string): Promise<GitResult<true>>
}

const MAX_MS = 5000

/** GitLab REST v4 (docs.gitlab.com: Projects, Project webhooks). `path` is the number of the project. */
const gitlab: GitClient = {
  async readRepository(access, repo) {
    const result = await ask(access, 'GET', `/api/v4/projects/${encodeURIComponent(repo)}`)
    return understood(result, (body) => {
      const namespace = object(body.namespace)
      const owner = body.owner === undefined ? namespace : object(body.owner)
      const id = String(number(body.id))
      const shown = {
        projectId: id,
        projectName: text(body.name),
        projectNameWithNamespace: text(body.name_with_namespace),
        projectNamespace: text(namespace.full_path),
        projectOwnerId: number(owner.id),
        projectUrl: text(body.web_url),
      }
      return { shown, path: id, id, url: shown.projectUrl, defaultBranch: text(body.default_branch ?? 'main') }
    })
  },
  async addHook(access, path, { url, secret }) {
    const events = { push_events: true, merge_requests_events: true, enable_ssl_verification: true }
    const body = { url, ...events, ...(secret !== null && { token: secret }) }
    const result = await ask(access, 'POST', `/api/v4/projects/${path}/hooks`, body)
    return understood(result, (hook) => String(number(hook.id)))
  },
  removeHook: (access, path, hookId) =>
    isGone(ask(access, 'DELETE', `/api/v4/projects/${path}/hooks/${encodeURIComponent(hookId)}`)),
}

/** Bitbucket Cloud REST 2.0 (developer.atlassian.com: Repositories, Webhooks). `path` is `workspace/slug`. */
const bitbucket: GitClient = {
  async readRepository(access, repo) {
    const result = await ask(access, 'GET', `/2.0/repositories/${escaped(repo)}`)
    return understood(result, (body) => {
      const [owner = '', slug = ''] = text(body.full_name).split('/')
      const uuid = text(body.uuid)
      const shown = { name: text(body.name), slug, owner, uuid, workspaceUuid: text(object(body.workspace).uuid) }
      const url = text(object(object(body.links).html).href)
      const branch = object(body.mainbranch ?? {}).name
      return { shown, path: `${owner}/${slug}`, id: uuid, url, defaultBranch: text(branch ?? 'main') }
    })
  },
  async addHook(access, path, { url, secret }) {
    const events = ['repo:push', 'pullrequest:created', 'pullrequest:updated', 'pullrequest:fulfilled']
    const body = { description: 'Berth', url, active: true, events, ...(secret !== null && { secret }) }
    const result = await ask(access, 'POST', `/2.0/repositories/${escaped(path)}/hooks`, body)
    return understood(result, (hook) => text(hook.uuid))
  },
  removeHook: (access, path, hookId) =>
    isGone(ask(access, 'DELETE', `/2.0/repositories/${escaped(path)}/hooks/${encodeURIComponent(hookId)}`)),
}

export const GIT_CLIENTS: Record<Provider, GitClient> = { gitlab, bitbucket }

type Body = Record<string, unknown>
type Answer = { status: number; body: unknown }

async function ask(
  access: GitAccess,
  method: string,
  path: string,
  body?: object,
): Promise<Answer | { fault: string }> {
  const headers: Record<string, string> = { accept: 'application/json', authorization: authorizationOf(access) }
  if (body) headers['content-type'] = 'application/json'
  try {
    const answer = await fetch(`${access.baseUrl}${path}`, {
      method,
      headers,
      // A followed redirect could send the token to another host.
      redirect: 'manual',
      signal: AbortSignal.timeout(MAX_MS),
      ...(body && { body: JSON.stringify(body) }),
    })
    const read = (await readAtMost(answer.body, READERS['answer of a git host'].bytes))?.toString()
    if (read === undefined) return { fault: 'its answer was too large' }
    if (answer.status >= 300) return { status: answer.status, body: undefined }
    return { status: answer.status, body: read === '' ? undefined : JSON.parse(read) }
  } catch (error) {
    if ((error as Error).name === 'TimeoutError') return { fault: 'it did not answer in time' }
    return { fault: error instanceof SyntaxError ? 'its answer was not JSON' : 'it could not be reached' }
  }
}

/** With a user name, the token is that user's app password; otherwise a bearer token. */
function authorizationOf({ username, token }: GitAccess): string {
  if (username === null) return `Bearer ${token}`
  return `Basic ${Buffer.from(`${username}:${token}`).toString('base64')}`
}

/** Reads a response. Reports one that does not match the provider's documentation. */
function understood<T>(result: Answer | { fault: string }, read: (body: Body) => T): GitResult<T> {
  if ('fault' in result) return result
  if (result.status >= 300) return { fault: `it answered ${result.status}` }
  try {
    return { value: read(object(result.body)) }
  } catch {
    return { fault: 'its answer was not understood' }
  }
}

async function isGone(request: Promise<Answer | { fault: string }>): Promise<GitResult<true>> {
  const result = await request
  if ('fault' in result) return result
  return result.status < 300 || result.status === 404 ? { value: true } : { fault: `it answered ${result.status}` }
}

function escaped(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}

function object(value: unknown): Body {
  // Of null no property can be read, which throws too.
  if (typeof value !== 'object') throw new TypeError('no object')
  return value as Body
}

function text(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw new TypeError('no text')
  return value
}

function number(value: unknown): number {
  if (!Number.isSafeInteger(value)) throw new TypeError('no number')
  return value as number
}
