/** Runs one command: finds it, parses its arguments, and prints its result. */
import type { Writable } from 'node:stream'
import { BadSetting, readConfig } from '../../config.ts'
import { describeError } from '../../platform/adapters/file-errors.ts'
import { VERSION } from '../../platform/base/version.ts'
import { BadUsage, type Command, type CommandResult, type Invocation } from '../command-line/command.ts'
import { helpOf, helpOfMany } from '../command-line/help.ts'
import { findCommand, groupOf, parseArguments } from '../command-line/parse.ts'
import { jsonText, print } from '../command-line/print.ts'
import { createProgressBar } from '../command-line/progress-bar.ts'
import { COMMANDS } from './commands.ts'
import { formatForTerminal } from './format.ts'

/** The output streams, of the process or a test. */
export type Outputs = { stdout: Writable & { isTTY?: boolean }; stderr: Writable & { isTTY?: boolean } }

/** Runs a command and returns the exit code; undefined while the service runs. Errors go to stderr, as JSON with `--json`. */
export async function runCommand(
  tokens: readonly string[],
  env: NodeJS.ProcessEnv,
  outputs: Outputs = process,
): Promise<number | undefined> {
  const isJson = tokens.includes('--json')
  // The write callback reports errors. Without listeners, a full or closed stream would end the process with a stack trace.
  for (const out of [outputs.stdout, outputs.stderr]) out.on('error', () => {})
  try {
    const args = tokens.filter((word, at) => word !== '--json' || tokens.lastIndexOf('--', at) >= 0)
    const help = args[0] === '--version' ? VERSION : helpWanted(args)
    if (help !== undefined) return await write(outputs, help)
    const { command, rest } = findCommand(COMMANDS, args)
    return await tell(outputs, await runOne(command, rest, env, outputs), isJson)
  } catch (error) {
    return await fail(outputs, error, isJson)
  }
}

/** `--help` alone or after a command or group; `help` in front is equal. */
function helpWanted(tokens: readonly string[]): string | undefined {
  const [first = ''] = tokens
  const asks = first === 'help' || tokens.includes('--help') || tokens.includes('-h')
  if (!asks) return undefined
  const named = tokens.filter((word) => word !== 'help' && !word.startsWith('-'))
  const command = COMMANDS.filter((candidate) => candidate.name.split(' ').every((word, at) => named[at] === word)).at(
    -1,
  )
  if (command !== undefined) return helpOf(command)
  const group = groupOf(COMMANDS, named)
  if (group.length < named.length) findCommand(COMMANDS, named)
  return helpOfMany(
    COMMANDS.filter((candidate) => `${candidate.name} `.startsWith(group.map((word) => `${word} `).join(''))),
  )
}

async function runOne(
  command: Command,
  rest: readonly string[],
  env: NodeJS.ProcessEnv,
  { stderr }: Outputs,
): Promise<CommandResult | undefined> {
  const parsed = parseArguments(command, rest)
  const progress = createProgressBar(stderr)
  const invocation: Invocation = {
    ...parsed,
    settings: () => readConfig(env),
    env,
    progress,
    notice: (text) => {
      progress.end()
      print(stderr, `${text}\n`)
    },
    ...(process.stdin.isTTY && stderr.isTTY && { confirm: (question: string) => confirm(question, stderr) }),
  }
  try {
    return await (await command.load())(invocation)
  } finally {
    progress.end()
  }
}

async function confirm(question: string, output: Writable): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises')
  const lines = createInterface({ input: process.stdin, output })
  // Ctrl-D or Ctrl-C count as no.
  const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
  const answer = await Promise.race([lines.question(`${question} [y/N] `), ended]).finally(() => lines.close())
  return /^y(es)?$/i.test(answer.trim())
}

async function tell(
  outputs: Outputs,
  outcome: CommandResult | undefined,
  isJson: boolean,
): Promise<number | undefined> {
  if (outcome === undefined) return undefined
  const { data, text = formatForTerminal(data), exact = false, warnings = [], code = 0 } = outcome
  for (const warning of warnings) print(outputs.stderr, `berth: ${warning}\n`)
  if (isJson) return write(outputs, jsonText(data), { code })
  return write(outputs, text, { code, exact: exact && outputs.stdout.isTTY !== true })
}

async function fail(outputs: Outputs, error: unknown, isJson: boolean): Promise<number> {
  const code = error instanceof BadUsage ? 64 : error instanceof BadSetting ? 78 : 1
  const message = describeError(error)
  const cause = error instanceof Error ? error.cause : undefined
  const because = code === 1 && cause ? `\n  because: ${describeError(cause)}` : ''
  if (isJson) await write(outputs, jsonText({ error: { message, exitCode: code } }))
  print(outputs.stderr, `berth: ${message}${because}\n`)
  return code
}

/** Returns `code`, or 1 when stdout fails. A closed pipe (`| head`) is not an error. */
function write({ stdout, stderr }: Outputs, text: string, { code = 0, exact = false } = {}): Promise<number> {
  if (text === '') return Promise.resolve(code)
  return new Promise((resolve) => {
    const whole = text.endsWith('\n') ? text : `${text}\n`
    const written = (error?: NodeJS.ErrnoException | null) => {
      if (!error || error.code === 'EPIPE') return resolve(code)
      print(stderr, `berth: the answer could not be written to stdout: ${error.message}\n`)
      resolve(code || 1)
    }
    if (exact) stdout.write(whole, written)
    else print(stdout, whole, written)
  })
}
