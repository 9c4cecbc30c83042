/** One process of a function: its sandbox, its socket and its output. docs/functions.md: Processes. */
import { once } from 'node:events'
import { chmod, chown } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import type { LauncherMessage, LauncherOptions } from '../../launcher/protocol.ts'
import { randomText } from '../../platform/base/ids.ts'
import { readPaced } from '../../platform/fairness/pace.ts'
import type { Network, Policy } from '../../sandbox/policy.ts'
import type { RunAs } from '../../sandbox/run-as.ts'
import type { Exit, Sandbox } from '../../sandbox/sandbox.ts'
import type { DataCache } from '../data-cache/data-cache.ts'
import { MAX_CONNECTIONS } from '../data-cache/serve.ts'
import { acceptConnections, type Connections } from './connections.ts'
import type { PlacedCode } from './function-code.ts'
import { type FunctionSpec, functionLimits, memoryOf } from './function-spec.ts'
import { type FunctionLine, readLines } from './log-lines.ts'
import type { FunctionPace } from './pace/function-pace.ts'

/** `folder`: what the sandbox must see of it; undefined where it is of the system. `program`: on the host. */
export type NodeProgram = { folder: string | undefined; program: string }

/** Where builders and frameworks expect the files of a function. */
const CODE_PLACE = '/var/task'

/** What all processes of a sites server share. */
export type ProcessMeans = {
  createSandbox(spec: FunctionSpec): Promise<Sandbox>
  runAs: RunAs
  network: Network
  /** Of sockets. Its path is short, because that of a socket has at most 107 bytes. */
  sockets: string
  /** The directory of the launcher. */
  launcher: string
  serveData: DataCache['serve']
  pace: FunctionPace
}

export type StartedProcess = {
  connections: Connections
  /** Resolves once everything of the process has ended. */
  ended: Promise<Exit>
  /** Ends it and removes what it had. */
  destroy(): Promise<void>
}

type Start = { spec: FunctionSpec; code: PlacedCode; env: Readonly<Record<string, string>>; node: NodeProgram }
type Hooks = { onMessage(message: LauncherMessage): void; onLine(line: FunctionLine): void }

/** Starts a process. It is ready with its message. Throws the system's errors. */
export async function startProcess(means: ProcessMeans, start: Start, hooks: Hooks): Promise<StartedProcess> {
  const { account } = start.spec
  const owe = {
    text: (units: number) => means.pace.text(account, units),
    pieces: (units: number) => means.pace.pieces(account, units),
  }
  const sandbox = await means.createSandbox(start.spec)
  const opened: { close(): void }[] = []
  try {
    const socket = join(means.sockets, randomText(16))
    const server = await listenAt(socket, means.runAs)
    opened.push(server)
    opened.push(await serveDataAt(dataSocketOf(socket), means, start.spec))
    const connections = acceptConnections(server, hooks.onMessage, owe)
    opened.push(connections)
    await sandbox.prepare()
    sandbox.start(policyOf(means, sandbox, start, socket))
    readOutput(sandbox, hooks.onLine, owe.text)
    const ended = sandbox.wait().finally(() => closeAll(opened))
    ended.catch(() => {})
    // Its callers do not wait. A directory that cannot be removed is removed at the next start.
    return { connections, ended, destroy: () => sandbox.destroy().catch(() => {}) }
  } catch (error) {
    closeAll(opened)
    await sandbox.destroy()
    throw error
  }
}

function closeAll(opened: readonly { close(): void }[]): void {
  for (const handle of opened) handle.close()
}

function dataSocketOf(socket: string): string {
  return `${socket}d`
}

/** Who dials it is this function: it is mounted into no other sandbox. */
async function serveDataAt(path: string, means: ProcessMeans, spec: FunctionSpec): Promise<{ close(): void }> {
  const server = await listenAt(path, means.runAs)
  const sockets = new Set<Socket>()
  server.maxConnections = MAX_CONNECTIONS
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    means.serveData(socket, spec)
  })
  return {
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

async function listenAt(path: string, runAs: RunAs): Promise<Server> {
  const server = createServer().listen(path)
  await once(server, 'listening')
  await chmod(path, 0o600)
  if (runAs !== undefined) await chown(path, runAs.uid, runAs.gid)
  return server
}

function policyOf({ network, launcher }: ProcessMeans, sandbox: Sandbox, start: Start, socket: string): Policy {
  const { spec, code, env, node } = start
  const { bundle } = spec
  const options: LauncherOptions = {
    socket: sandbox.inside(socket),
    cache: sandbox.inside(dataSocketOf(socket)),
    folder: sandbox.mounted(CODE_PLACE, code.folder),
    entrypoint: bundle.entrypoint,
    helpers: bundle.helpers,
    sourceMaps: bundle.sourceMaps === true,
    webApi: bundle.webApi,
    edge: bundle.kind === 'edge',
    middleware: spec.role === 'middleware',
  }
  const program = node.folder === undefined ? node.program : sandbox.inside(node.program)
  const main = join(sandbox.inside(launcher), 'main.mjs')
  return {
    command: [program, `--max-old-space-size=${memoryOf(spec)}`, main, JSON.stringify(options)],
    env: {
      LANG: 'C.UTF-8',
      TZ: ':UTC',
      NODE_ENV: 'production',
      ...code.environment,
      ...env,
      PATH: '/usr/local/bin:/usr/bin:/bin',
      HOME: '/tmp',
    },
    workDirectory: undefined,
    readOnlyAt: { [CODE_PLACE]: code.folder },
    readOnly: [launcher, socket, dataSocketOf(socket), ...(node.folder === undefined ? [] : [node.folder])],
    network,
    currentDirectory: options.folder,
    limits: functionLimits(spec),
  }
}

function readOutput(sandbox: Sandbox, onLine: (line: FunctionLine) => void, owe: (units: number) => number): void {
  const lines = readLines(onLine)
  const output = sandbox.output()
  readPaced(output, lines.write, owe)
  output.once('close', lines.end)
  output.on('error', () => {})
}
