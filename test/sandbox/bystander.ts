/**
 * What a server feels next to a sandbox that eats the processors of the machine: prints its p99 before and meanwhile, as JSON. Its word: a control
 * group of version 1 for the sandbox, where those of version 2, which the sandbox makes for itself, have no processors.
 */
import { pbkdf2Sync } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { createSandbox } from '../../src/sandbox/create.ts'
import { DEFAULT_LIMITS } from '../../src/sandbox/policy.ts'
import { RUN_AS } from './run-as.ts'

const [LASTS_MS, EVERY_MS] = [15_000, 5]

/** Four eat, and the rest of the processes that the sandbox may have try to start more. */
const EATERS = `for n in 1 2 3 4; do (while :; do :; done) & done
exec python3 -c "
import os
first, is_full = os.getpid(), False
while True:
  try: os.fork()
  except OSError:
    if os.getpid() == first and not is_full: print('full', flush=True)
    is_full = True
"`

/** Answers with a quarter of a millisecond of work. */
function serve(): void {
  const server = createServer((_, response) => {
    pbkdf2Sync('password', 'salt', 400, 32, 'sha256')
    response.end()
  })
  server.listen(0, '127.0.0.1', () => parentPort!.postMessage((server.address() as AddressInfo).port))
}

async function measure(port: number): Promise<{ p50: number; p99: number; longest: number }> {
  const agent = new Agent({ keepAlive: true })
  const took: number[] = []
  const until = performance.now() + LASTS_MS
  while (performance.now() < until) {
    await sleep(EVERY_MS)
    const startedAt = performance.now()
    const [response] = (await once(get({ port, agent }), 'response')) as [IncomingMessage]
    await once(response.resume(), 'end')
    took.push(performance.now() - startedAt)
  }
  agent.destroy()
  took.sort((a, b) => a - b)
  const at = (share: number) => took[Math.floor(share * took.length)]!
  return { p50: at(0.5), p99: at(0.99), longest: took.at(-1)! }
}

/** What this process starts from then on is in the group. */
function enter(group: string): void {
  writeFileSync(join(group, 'cgroup.procs'), String(process.pid), { flag: 'r+' })
}

async function compare(group: string | undefined): Promise<void> {
  const server = new Worker(new URL(import.meta.url))
  const [port] = (await once(server, 'message')) as [number]
  await measure(port)
  const quiet = await measure(port)
  const parent = mkdtempSync(join(tmpdir(), 'berth-sandbox-'))
  chmodSync(parent, 0o755)
  const sandbox = createSandbox('sandboxed', parent, RUN_AS)
  const { workDirectory } = await sandbox.prepare()
  try {
    if (group !== undefined) enter(group)
    sandbox.start({
      command: ['sh', '-c', EATERS],
      env: { PATH: '/usr/bin' },
      workDirectory,
      readOnly: [],
      network: 'none',
      currentDirectory: '/work',
      limits: DEFAULT_LIMITS,
    })
    if (group !== undefined) enter(join(group, '..'))
    const ended = sandbox.wait().then(({ code }) => Promise.reject(new Error(`it ended with ${code}`)))
    await Promise.race([once(sandbox.output(), 'data'), ended])
    const beside = await Promise.race([measure(port), ended])
    console.log(JSON.stringify({ quiet, beside }))
  } finally {
    await sandbox.destroy()
    await server.terminate()
    rmSync(parent, { recursive: true, force: true })
  }
}

if (isMainThread) await compare(process.argv[2])
else serve()
