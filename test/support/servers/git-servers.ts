/**
 * GitLab and Bitbucket Cloud as far as a link needs them, on free ports: the paths, the authentication, the answers and the
 * statuses of their documentation (GitLab: REST v4, Projects and Project webhooks; Bitbucket: REST 2.0, Repositories and Webhooks).
 */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Hook = { id: string; repo: string; body: Record<string, unknown> }
export type GitServer = {
  url: string
  hooks: Hook[]
  /** Every request so far: method and path. */
  asked: string[]
  /** Replaces the response to the next requests. */
  trouble: undefined | 'hang' | 'garbage' | 'flood' | 'redirect' | 'forbid-hooks' | 'odd' | 'drop'
  close(): Promise<void>
}

type Reply = { status: number; body?: unknown }
type Serve = (request: { method: string; path: string; authorization: string; body: Hook['body'] }) => Reply

/** A GitLab that accepts this token for these projects. */
export function startGitlab(token: string, projects: Record<string, { id: number }>): Promise<GitServer> {
  const hooks: Hook[] = []
  let last = 40
  return startServer(hooks, ({ method, path, authorization, body }) => {
    if (authorization !== `Bearer ${token}`) return { status: 401, body: { message: '401 Unauthorized' } }
    const [, said = '', hookId] = /^\/api\/v4\/projects\/([^/]+)(?:\/hooks(?:\/(\d+))?)?$/.exec(path) ?? []
    const found = Object.entries(projects).find(
      ([repo, { id }]) => repo === decodeURIComponent(said) || String(id) === said,
    ) as [string, { id: number }] | undefined
    if (found === undefined) return { status: 404, body: { message: '404 Project Not Found' } }
    if (!path.includes('/hooks')) return { status: 200, body: found[1] }
    if (method === 'POST') {
      const hook = { id: String(++last), repo: found[0], body }
      hooks.push(hook)
      const { token: _, ...shown } = body
      return { status: 201, body: { id: last, project_id: found[1].id, ...shown } }
    }
    return removeFrom(hooks, hookId) ? { status: 204 } : { status: 404, body: { message: '404 Not found' } }
  })
}

/** A Bitbucket Cloud that accepts this Authorization header for these repositories. */
export function startBitbucket(expected: string, repositories: Record<string, object>): Promise<GitServer> {
  const hooks: Hook[] = []
  let last = 0
  const error = (message: string) => ({ type: 'error', error: { message } })
  return startServer(hooks, ({ method, path, authorization, body }) => {
    if (authorization !== expected) return { status: 401, body: error('Token is invalid or not supported.') }
    const [, repo = '', hookId] = /^\/2\.0\/repositories\/([^/]+\/[^/]+)(?:\/hooks(?:\/([^/]+))?)?$/.exec(path) ?? []
    const found = repositories[decodeURIComponent(repo)]
    if (found === undefined) return { status: 404, body: error(`Repository ${repo} not found`) }
    if (!path.includes('/hooks')) return { status: 200, body: found }
    if (method === 'POST') {
      const uuid = `{hook-${++last}}`
      hooks.push({ id: uuid, repo, body })
      return { status: 201, body: { type: 'webhook_subscription', uuid, ...body, secret_set: 'secret' in body } }
    }
    return removeFrom(hooks, decodeURIComponent(hookId ?? '')) ? { status: 204 } : { status: 404, body: error('gone') }
  })
}

function removeFrom(hooks: Hook[], id: string | undefined): boolean {
  const at = hooks.findIndex((hook) => hook.id === id)
  if (at >= 0) hooks.splice(at, 1)
  return at >= 0
}

async function startServer(hooks: Hook[], serve: Serve): Promise<GitServer> {
  const state: Pick<GitServer, 'asked' | 'trouble'> = { asked: [], trouble: undefined }
  const server = createServer(async (request, response) => {
    const path = request.url ?? ''
    state.asked.push(`${request.method} ${path}`)
    const { trouble } = state
    if (trouble === 'hang') return
    if (trouble === 'drop') return void request.socket.destroy()
    if (trouble === 'redirect') return void response.writeHead(302, { location: `${path}?again` }).end()
    if (trouble === 'garbage') return void response.writeHead(200).end('<html>')
    if (trouble === 'odd') return void response.writeHead(200).end('{"id":"seven"}')
    if (trouble === 'flood') return void response.writeHead(200).end(`"${'x'.repeat(4_000_000)}"`)
    const body = await bodyOf(request)
    if (trouble === 'forbid-hooks' && path.includes('/hooks')) return void response.writeHead(403).end('{}')
    const reply = serve({
      method: request.method ?? '',
      path,
      authorization: request.headers.authorization ?? '',
      body,
    })
    response.writeHead(reply.status, { 'content-type': 'application/json' })
    response.end(reply.body === undefined ? undefined : JSON.stringify(reply.body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return Object.assign(state, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, hooks, close })
}

async function bodyOf(request: IncomingMessage): Promise<Hook['body']> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text === '' ? {} : JSON.parse(text)
}
