/** What a test gives the functions of a site so that they run in sandboxes. */
import { dirname } from 'node:path'
import { runAsOf } from '../../../src/sandbox/run-as.ts'
import type { FunctionOptions } from '../../../src/sites/functions/runtime.ts'

/** Returns the options of functions in sandboxes, with the Node.js of the test. */
export function sandboxed(network: 'none' | 'internet' = 'none'): Partial<FunctionOptions> {
  const folder = dirname(dirname(process.execPath))
  return {
    kind: 'sandboxed',
    runAs: runAsOf(undefined),
    network,
    node: async () => ({ folder, program: process.execPath }),
  }
}
