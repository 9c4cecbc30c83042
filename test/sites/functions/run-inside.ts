/** A function that runs shell scripts, and the sandbox that it runs in, for tests of what a tenant may try. */
import { dirname } from 'node:path'
import { bwrapArguments } from '../../../src/sandbox/bwrap-arguments.ts'
import type { Layers } from '../../../src/sandbox/bwrap-sandbox.ts'
import type { Network } from '../../../src/sandbox/policy.ts'
import { runAsOf } from '../../../src/sandbox/run-as.ts'
import type { FunctionOptions } from '../../../src/sites/functions/runtime.ts'
import type { Change } from '../../sandbox/sandbox-world.ts'
import type { EdgeReply } from '../../support/worlds/edge-world.ts'

/** Runs the script of its header, and answers with its output. What the script started may go on. */
export const RUN = `import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
export async function GET(request) {
  const script = Buffer.from(request.headers.get('x-script'), 'base64').toString()
  const child = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => { text += piece })
  const [, signal] = await once(child, 'exit')
  // Its last output is still in the pipe.
  await sleep(200)
  return new Response(text + (signal ?? ''))
}
`

/** Returns how functions run in sandboxes, by the Node.js of the tests. `change`: leaves out a layer, as a control. */
export function sandboxedWith(
  change?: Change,
  network: Network = 'none',
  rulesOf?: Layers['rulesOf'],
): Partial<FunctionOptions> {
  const folder = dirname(dirname(process.execPath))
  const layers: Layers = {
    ...(change && { argumentsOf: (...given) => change(bwrapArguments(...given)) }),
    ...(rulesOf && { rulesOf }),
  }
  const node = async () => ({ folder, program: process.execPath })
  return { kind: 'sandboxed', runAs: runAsOf(undefined), network, node, layers }
}

/** The header with a script. */
export function scriptHeader(script: string): Record<string, string> {
  return { 'x-script': Buffer.from(script).toString('base64') }
}

/** Runs a script in a function, and returns its output. Throws where the function did not answer. */
export async function runInside(
  visit: (path: string, headers?: Record<string, string>) => Promise<EdgeReply>,
  script: string,
  path = '/api/run',
): Promise<string> {
  const { status, text } = await visit(path, scriptHeader(script))
  if (status !== 200) throw new Error(`the function answered ${status}: ${text}`)
  return text
}
