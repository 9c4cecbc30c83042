/** Runs in the lab of test/sandbox/lab.ts. `life`: what a space of sandboxes promises. `failures`: prints the sentences of 20 networks that fail. */
import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { DEFAULT_LIMITS } from '../../src/sandbox/policy.ts'
import { openSandboxSpace, type SandboxSpace } from '../../src/sandbox/space/space.ts'
import { trySandbox } from '../../src/sandbox/trial.ts'
import { eventually } from '../support/eventually.ts'
import { processesWith } from './processes.ts'
import { RUN_AS } from './run-as.ts'

const parent = mkdtempSync(join(tmpdir(), 'berth-sandbox-'))
chmodSync(parent, 0o755)
try {
  if (process.argv[2] === 'failures') await printFailures()
  else await live()
  await eventually(() => processesWith(parent).length === 0)
  assert.deepEqual(readdirSync(parent), [])
} finally {
  rmSync(parent, { recursive: true, force: true })
}

async function printFailures(): Promise<void> {
  for (let attempt = 0; attempt < 10; attempt++) {
    const trial = await trySandbox({ parent, runAs: RUN_AS, network: 'internet' })
    console.log(trial.works ? 'it works' : trial.sentence)
    await open().then(
      () => console.log('it works'),
      (error) => console.log(error.message),
    )
  }
}

async function live(): Promise<void> {
  const [one, other] = [await open(), await open()]
  const server = await start(one, 'python3 -m http.server --bind 127.0.0.1 7000')
  const ask = 'python3 -c "import urllib.request; print(urllib.request.urlopen(\'http://127.0.0.1:7000\').status)"'
  await eventually(async () => (await outputOf(await start(one, ask))).endsWith('200\n'))
  assert.match(await outputOf(await start(other, ask)), /Connection refused/)

  const wrong = one.createSandbox()
  await wrong.prepare()
  assert.throws(() => wrong.start({ ...policy('true'), network: { allow: ['10.0.0.1'] } }), /not that of its space/)

  await one.close()
  await one.ended
  assert.deepEqual(await server.wait(), { code: null, signal: 'SIGKILL' })
  assert.throws(() => one.createSandbox(), /closed/)

  const sleeper = await start(other, 'sleep 1000')
  const late = other.createSandbox()
  await late.prepare()
  const [pasta] = processesWith(parent).filter((pid) => !processesWith('INIT').includes(pid))
  process.kill(pasta!, 'SIGKILL')
  const first = await Promise.race([other.ended.then(() => 'the space'), sleeper.wait().then(() => 'its sandbox')])
  assert.equal(first, 'the space', 'who starts a sandbox again finds that the space has ended')
  assert.deepEqual(await sleeper.wait(), { code: null, signal: 'SIGKILL' })
  assert.throws(() => late.start(policy('true')), /has ended/)
  await other.close()
}

function open(): Promise<SandboxSpace> {
  return openSandboxSpace('sandboxed', parent, RUN_AS, 'internet')
}

async function start(space: SandboxSpace, script: string) {
  const sandbox = space.createSandbox()
  await sandbox.prepare()
  sandbox.start(policy(script))
  return sandbox
}

async function outputOf(sandbox: Awaited<ReturnType<typeof start>>): Promise<string> {
  const output = await text(sandbox.output())
  await sandbox.destroy()
  return output
}

function policy(script: string) {
  return {
    command: ['sh', '-c', script] as const,
    env: { PATH: '/usr/bin' },
    workDirectory: undefined,
    readOnly: [],
    network: 'internet' as const,
    currentDirectory: '/tmp',
    limits: DEFAULT_LIMITS,
  }
}
