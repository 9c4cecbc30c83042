/** Entry point of `berth`. Exit codes: docs/operations.md: Start and stop; 64 for a usage error. */

import { print } from './cli/command-line/print.ts'
import { BadSetting, readConfig } from './config.ts'
import { describeError } from './platform/adapters/file-errors.ts'

/** Runs the program. It returns when a command is done; the service ends at a signal. */
export async function main(words = process.argv.slice(2), env: NodeJS.ProcessEnv = process.env): Promise<void> {
  try {
    // The service starts faster without loading the commands.
    if (words.length === 0 || (words.length === 1 && words[0] === 'serve'))
      await (await import('./processes/start.ts')).start(readConfig(env), env)
    else process.exitCode = await (await import('./cli/command/run.ts')).runCommand(words, env)
  } catch (error) {
    print(process.stderr, `berth: ${describeError(error)}\n`)
    if (!(error instanceof BadSetting) && error instanceof Error && error.cause)
      print(process.stderr, `  because: ${describeError(error.cause)}\n`)
    process.exit(error instanceof BadSetting ? 78 : 1)
  }
}
