/** Real proxies in front of a real edge: the recipes of deploy/ with other ports and folders, started as their users start them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '../eventually.ts'
import { credentialsOf, type ServiceHome, startService } from '../process.ts'
import { canRun, skipReason, WITH_SBIN } from '../programs.ts'
import { root } from '../root.ts'
import { freePort } from '../servers/free-port.ts'
import { callEdgeAt, type EdgeReply } from '../worlds/edge-world.ts'

export const ONE = 'one.apps.example.net'
export const TWO = 'two.apps.example.net'

/** Runs the tests where the program is installed, and prints a notice where it is not. */
export function withProgram(program: string, packageName: string, run: () => void): void {
  if (canRun(program, program === 'caddy' ? 'version' : '-v')) run()
  else test(`behind ${program}`, { skip: skipReason(program, packageName, 'the edge behind it') }, () => {})
}

/** A folder that worker processes of another user can read, gone after the test. */
export function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-proxy-'))
  chmodSync(folder, 0o755)
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Reads a recipe, replaces every occurrence of each piece, which must be there, and writes it into `folder`. */
export function adapt(recipe: string, folder: string, pieces: Record<string, string>): string {
  let text = readFileSync(join(root, 'deploy', recipe), 'utf8')
  for (const [piece, other] of Object.entries(pieces)) {
    if (!text.includes(piece)) throw new Error(`deploy/${recipe} has no "${piece}"`)
    text = text.replaceAll(piece, other)
  }
  const file = join(folder, recipe)
  writeFileSync(file, text)
  return file
}

/** Starts a program that stays in the foreground. It is ended with the test. */
export function run(t: TestContext, program: string, parameters: string[], env: Record<string, string> = {}) {
  const child: ChildProcess = spawn(program, parameters, {
    env: { PATH: WITH_SBIN, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream!.on('data', (chunk) => {
      said += chunk
    })
  }
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    const timeout = setTimeout(() => child.kill('SIGKILL'), 3000)
    await gone
    clearTimeout(timeout)
  })
  return { said: () => said, alive: () => child.exitCode === null }
}

/** Waits until a server responds at a port. */
export async function answers(origin: string, proxy: { said(): string; alive(): boolean }): Promise<void> {
  await eventually(async () => {
    if (!proxy.alive()) throw new Error(`the proxy ended: ${proxy.said()}`)
    return callEdgeAt(origin, '/').then(
      () => true,
      () => false,
    )
  })
}

/** A site that returns the request it got. */
export async function openUpstream(t: TestContext): Promise<string> {
  const server = createServer((asked, answer) => {
    answer.setHeader('content-type', 'application/json')
    answer.end(JSON.stringify({ method: asked.method, url: asked.url, headers: asked.headers }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export function arrived(answer: EdgeReply): { method: string; url: string; headers: IncomingHttpHeaders } {
  return JSON.parse(answer.text)
}

/** One request over TLS to `host`, with any certificate. Throws when the handshake fails. */
export async function visitOverTls(port: number, host: string, path = '/', headers: Record<string, string> = {}) {
  const asked = request({
    host: '127.0.0.1',
    port,
    path,
    servername: host,
    rejectUnauthorized: false,
    headers: { host: `${host}:${port}`, ...headers },
    agent: false,
  })
  asked.end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of answer.setEncoding('utf8')) text += chunk
  return { status: answer.statusCode!, headers: answer.headers, text }
}

/** Starts a Caddy with the unchanged deploy/Caddyfile, its internal CA, and on-demand certificates. Returns its port, and a client for it over TLS. */
export async function startCaddy(
  t: TestContext,
  edge: { origin: string; token: string },
  { recipe = 'Caddyfile', env: more = {} }: { recipe?: string; env?: Record<string, string> } = {},
) {
  const folder = newFolder(t)
  const [http, https] = [await freePort(), await freePort()]
  const env = {
    HOME: folder,
    XDG_DATA_HOME: folder,
    XDG_CONFIG_HOME: folder,
    BERTH_EDGE: new URL(edge.origin).host,
    BERTH_EDGE_TOKEN: edge.token,
    BERTH_TLS_ISSUER: 'internal',
    BERTH_HTTP_PORT: String(http),
    BERTH_HTTPS_PORT: String(https),
    BERTH_CADDY_ADMIN: 'off',
    ...more,
  }
  const file = join(root, 'deploy', recipe)
  const caddy = run(t, 'caddy', ['run', '--config', file, '--adapter', 'caddyfile'], env)
  await answers(`http://127.0.0.1:${http}`, caddy)
  const visit = (host: string, path?: string, headers?: Record<string, string>) =>
    visitOverTls(https, host, path, headers)
  return { visit, https }
}

/** The real program with a live site of two domains, of which TWO redirects to ONE, and the address for proxies. */
export async function startSite(t: TestContext, home: ServiceHome, upstream: string) {
  const env = { BERTH_PLATFORM_SUFFIX: 'apps.example.net', BERTH_EDGE_TOKEN: 'token-of-the-proxies-at-the-edge' }
  const running = await startService(t, home, env)
  const { operatorToken, token } = credentialsOf(home)
  const call = async (method: string, path: string, body?: object) => {
    const authorization = `Bearer ${path.startsWith('/operator') ? operatorToken : token}`
    const answer = await fetch(running.address + path, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as Record<string, string>
  }
  const { id } = await call('POST', '/v10/projects', { name: 'web' })
  for (const name of [ONE, TWO]) await call('POST', '/v10/projects/web/domains', { name })
  await call('PATCH', `/v9/projects/web/domains/${TWO}`, { redirect: ONE, redirectStatusCode: 308 })
  await call('POST', `/operator/v1/projects/${id}/deployments`, {
    url: 'web-1.host.test',
    target: 'production',
    readyState: 'READY',
    upstream,
  })
  const edge = /Proxies ask http:\/\/(\S+)/.exec(running.out())![1]!
  const turn = (verb: 'pause' | 'unpause') => call('POST', '/v1/projects/web/'.concat(verb))
  return { ...running, id, edge, token: env.BERTH_EDGE_TOKEN, call, turn }
}

export function makeFolders(folder: string, ...names: string[]): void {
  for (const name of names) mkdirSync(join(folder, name), { recursive: true })
}
