/** A control plane and a runner on the host of a lab, whose builds reach the lab's internet alone; and what a build leaves. docs/testing.md. */
import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { RUNNER_TOKEN } from '../../delivery/builds/building.ts'
import { mountsWith, TOOLS } from '../../faults/function-place.ts'
import { readProcesses } from '../../faults/process-trees.ts'
import { type Lab, openLab } from '../../sandbox/lab.ts'
import { eventually } from '../../support/eventually.ts'
import { credentialsOf, launch, newHome, startService } from '../../support/process.ts'
import { root } from '../../support/root.ts'
import { registryAt } from './packages.ts'

const BERTH = join(root, 'bin', 'berth.mjs')

/** Of one build. */
const LIMITS = { BERTH_BUILD_MEMORY: '1GiB', BERTH_BUILD_DISK: '512MiB', BERTH_BUILD_FILES: '20000' }

// biome-ignore lint/suspicious/noExplicitAny: a test looks at what a body should have
type Answer = { status: number; body: any }
/** A request to the control plane, with the token of its first user. */
export type Send = (
  method: string,
  path: string,
  body?: object | Buffer,
  headers?: Record<string, string>,
) => Promise<Answer>

export type Line = { type: string; text: string }
export type Built = { id: string; state: string; code: string | undefined; message: string; lines: Line[] }

export type Scene = {
  lab: Lab
  send: Send
  /** What is there of builds now. */
  left(): string[]
  /** Creates a deployment, and returns how its build ended, once nothing of it is left. `onBegin`: called when its log has `all have begun`. */
  build(create: object, onBegin?: (id: string) => Promise<unknown>): Promise<Built>
}

const ENDS = ['READY', 'ERROR', 'CANCELED']

/** Starts all of it, and ends it with the test. The registry of the operator is the good one. `limits`: of a build, in place of LIMITS. */
export async function openScene(t: TestContext, limits: Record<string, string> = {}): Promise<Scene> {
  const lab = await openLab(t)
  const home = await newHome(t, 'sqlite')
  const folder = mkdtempSync(join(tmpdir(), 'berth-ends-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o755)
  mkdirSync(TOOLS, { recursive: true })
  symlinkSync(TOOLS, join(folder, 'tools'))
  await startProgram(t, lab.internetWords(process.execPath, join(import.meta.dirname, 'registry.ts')))
  const own = { BERTH_BUILDS: 'sandboxed', BERTH_RUNNER_TOKEN: RUNNER_TOKEN }
  const service = await startService(t, home, own, lab.words(process.execPath, BERTH))
  const edge = /Proxies ask (\S+)/.exec(service.out())![1]!
  const socket = join(home.folder, 'relay')
  const ports = [service.address, edge].map((address) => new URL(address).port)
  const relay = join(import.meta.dirname, 'relay.ts')
  const said = await startProgram(t, lab.words(process.execPath, relay, socket, ...ports))
  const ofRunner = {
    ...{ ...own, ...LIMITS, ...limits, BERTH_RUNNER_BUILDS: '1', BERTH_RUNNER_CACHE: folder, HOME: folder },
    ...{ BERTH_RUNNER_URL: `http://127.0.0.1:${said.split(' ')[1]!.trim()}`, npm_config_registry: registryAt('good') },
  }
  const runner = launch(t, home, ofRunner, lab.words(process.execPath, BERTH, 'runner'))
  const output = () => runner.out() + runner.err()
  await eventually(() => output().includes('berth runner builds for'), output)
  const send = senderOver(socket, credentialsOf(home).token)
  const left = () => leftIn(folder)
  const build: Scene['build'] = async (create, onBegin) => {
    const made = await send('POST', '/v13/deployments?forceNew=1', create)
    if (made.status !== 200) throw new Error(`no build: ${JSON.stringify(made)}`)
    const built = await endOf(send, made.body.id, onBegin)
    await eventually(
      () => left().length === 0,
      () => `of ${built.id} stayed: ${left().join(', ')}`,
    )
    return built
  }
  return { lab, send, left, build }
}

/** Starts a program, and returns the first that it prints. */
async function startProgram(t: TestContext, [program, ...words]: string[]): Promise<string> {
  const child = spawn(program!, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  for await (const first of child.stdout.iterator({ destroyOnReturn: false })) return String(first)
  throw new Error(`${words.join(' ')} ended`)
}

function senderOver(socketPath: string, token: string): Send {
  return (method, path, body, more = {}) =>
    new Promise((resolve, reject) => {
      const bytes = body === undefined || Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body))
      const type = Buffer.isBuffer(body) ? 'application/octet-stream' : 'application/json'
      const headers = { authorization: `Bearer ${token}`, ...(bytes && { 'content-type': type }), ...more }
      const sent = request({ socketPath, method, path, headers }, async (answer) => {
        const text = await textOf(answer)
        resolve({ status: answer.statusCode!, body: text === '' ? undefined : JSON.parse(text) })
      })
      sent.on('error', reject)
      sent.end(bytes)
    })
}

async function endOf(send: Send, id: string, onBegin?: (id: string) => Promise<unknown>): Promise<Built> {
  let waits = onBegin
  const read = async () => (await send('GET', `/v3/deployments/${id}/events?limit=10000&builds=1`)).body as Line[]
  for (;;) {
    const { body } = await send('GET', `/v13/deployments/${id}`)
    if (ENDS.includes(body.readyState)) {
      const { readyState: state, errorCode: code, errorMessage: message = '' } = body
      return { id, state, code, message, lines: await read() }
    }
    if (waits !== undefined && (await read()).some(({ text }) => text.includes('all have begun'))) {
      await waits(id)
      waits = undefined
    }
    // Builds take seconds.
    await sleep(300)
  }
}

/** Returns what is there of the builds of a runner: directories, processes that see one of them, and those around them. */
function leftIn(folder: string): string[] {
  const own = [...readProcesses().values()].filter(
    ({ pid, words }) => words.some((word) => word.includes(folder)) || mountsWith(folder, pid).length > 0,
  )
  return [...readdirSync(join(folder, 'runs')), ...own.map(({ pid, words }) => `${pid} ${words.join(' ')}`)]
}
