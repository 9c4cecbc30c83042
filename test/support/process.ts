/** The real program as a child process, with its own data folder. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { ApiResponse, BodyOf, Method, ReplyTo } from './call.ts'
import { eventually } from './eventually.ts'
import { root } from './root.ts'
import { enginesOfNext, skipOn } from './stores/engines.ts'
import { type Engine, newDatabase, PATIENCE } from './world.ts'

/** Stops what it started: a test, or a fault run. `timeoutMs`: the limit for a start, four minutes by default; docs/bench.md measures starts. */
export type Cleanup = { after(run: () => void): void; timeoutMs?: number }
/** `cwd`: where the program is started; the repository by default. */
export type ServiceHome = { folder: string; env: Record<string, string>; cwd?: string }
export type RunningService = {
  child: ChildProcess
  address: string
  /** Everything on stdout and on stderr so far. */
  out(): string
  err(): string
  kill(signal: NodeJS.Signals): Promise<number | null>
}

/** A fresh data directory and store, both deleted after the test. `name` can contain a space. */
export async function newHome(t: Cleanup, engine: Engine, name = 'data'): Promise<ServiceHome> {
  const parent = mkdtempSync(join(tmpdir(), 'berth-process-'))
  t.after(() => rmSync(parent, { recursive: true, force: true }))
  const folder = join(parent, name)
  const database = engine === 'postgres' ? await newDatabase() : `sqlite:${join(folder, 'berth.db')}`
  const env = {
    BERTH_DATA: folder,
    DATABASE_URL: database,
    PORT: '0',
    BERTH_EDGE_PORT: '0',
    // Tests of sites servers set a port.
    BERTH_SITES_PORT: 'off',
    BERTH_BUILDS: 'off',
    BERTH_RATE_LIMITS: 'off',
    BERTH_TEST_PATIENCE: PATIENCE,
  }
  return { folder, env }
}

/** Starts the program (or `words`, another command line for it) and does not wait. It is killed after the test in any case. */
export function launch(
  t: Cleanup,
  home: ServiceHome,
  env: Record<string, string> = {},
  words: string[] = [process.execPath, join(root, 'bin', 'berth.mjs')],
): Omit<RunningService, 'address'> {
  const child = spawn(words[0]!, words.slice(1), {
    cwd: home.cwd ?? root,
    env: { PATH: process.env.PATH, ...home.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  let out = ''
  let err = ''
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  child.stderr.on('data', (chunk) => {
    err += chunk
  })
  const closed = once(child, 'close')
  return {
    child,
    out: () => out,
    err: () => err,
    kill: async (signal) => {
      child.kill(signal)
      await closed
      return child.exitCode
    },
  }
}

/** Starts the program and waits until it has printed where it listens. */
export async function startService(
  t: Cleanup,
  home: ServiceHome,
  env: Record<string, string> = {},
  words?: string[],
): Promise<RunningService> {
  const running = launch(t, home, env, words)
  const address = await new Promise<string>((resolve, reject) => {
    const look = () => {
      const found = /^berth listening on (https?:\/\/\S+)\r?\n/.exec(running.out())
      // The greeting is one write, and its last line names the page of operations.
      if (found && running.out().includes('/docs')) resolve(found[1]!)
    }
    running.child.stdout?.on('data', look)
    const { timeoutMs = 240_000 } = t
    setTimeout(() => reject(new Error(`did not listen in ${timeoutMs} ms: ${running.out()}`)), timeoutMs).unref()
    running.child.on('close', () => reject(new Error(`ended: ${running.out()}\n${running.err()}`)))
  })
  return { ...running, address }
}

const PROGRAM = [process.execPath, join(root, 'bin', 'berth.mjs')]

/** Starts `berth sites` on a free port and waits until it listens; `words` are another command line for it. */
export async function startSites(
  t: Cleanup,
  home: ServiceHome,
  env: Record<string, string>,
  words: string[] = PROGRAM,
): Promise<RunningService> {
  const running = launch(t, home, { BERTH_SITES_PORT: '0', ...env }, [...words, 'sites'])
  const found = () => /^berth sites listening on (\S+)$/m.exec(running.out())?.[1]
  await eventually(
    () => found() !== undefined,
    () => running.out() + running.err(),
  )
  return { ...running, address: found()! }
}

/** Starts the program and waits until it exits on its own. */
export async function runUntilExit(t: Cleanup, home: ServiceHome, env: Record<string, string> = {}) {
  const { child, out, err } = launch(t, home, env)
  await once(child, 'close')
  return { code: child.exitCode, out: out(), err: err() }
}

/** The credentials that the first start created. */
type Credentials = { operatorToken: string; userId: string; teamId: string; token: string; welcome: string }

export function credentialsOf(home: ServiceHome): Credentials {
  return JSON.parse(readFileSync(join(home.folder, 'credentials.json'), 'utf8'))
}

export type RawResponse = {
  status: number
  body: { error?: { code: string }; projects?: { name: string }[]; name?: string }
}

/** Sends one request; undefined when the connection broke before the end of the response. */
export async function sendRequest(
  { address }: Pick<RunningService, 'address'>,
  token: string,
  method: string,
  path: string,
  body?: object,
): Promise<RawResponse | undefined> {
  try {
    const answer = await fetch(`${address}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, body: (await answer.json()) as RawResponse['body'] }
  } catch {
    return undefined
  }
}

/** Calls with a token, one request each. */
export type HttpCaller = <M extends Method, const U extends string>(
  method: M,
  path: U,
  body?: object,
) => Promise<Pick<ApiResponse<BodyOf<ReplyTo<M, U>>>, 'status' | 'body'>>

/** As `ask`, with the body whatever it is; a connection that breaks throws. */
export function callerAt({ address }: Pick<RunningService, 'address'>, token: string): HttpCaller {
  return async (method, path, body) => {
    const answer = await fetch(`${address}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) }
  }
}

/** Every project name, walked page by page. */
export async function allNames(running: RunningService, token: string): Promise<Set<string>> {
  const names = new Set<string>()
  for (let until = ''; ; ) {
    const answer = await fetch(`${running.address}/v9/projects?limit=100${until}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const page = (await answer.json()) as { projects: { name: string }[]; pagination: { next: number | null } }
    for (const { name } of page.projects) names.add(name)
    if (page.pagination.next === null) return names
    until = `&until=${page.pagination.next}`
  }
}

/** Registers the test once per engine. */
export function processOnBothEngines(
  name: string,
  run: (t: TestContext, engine: Engine) => Promise<void>,
  timeout = 300_000,
  engines: readonly Engine[] = enginesOfNext(),
): void {
  for (const engine of engines)
    test(`${name} [${engine}]`, { timeout, skip: skipOn(engine, engines) }, (t) => run(t, engine))
}
