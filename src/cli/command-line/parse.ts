import { parseArgs } from 'node:util'
import { closestMatch } from '../../platform/base/text.ts'
import {
  BadUsage,
  type BucketKind,
  type Command,
  GLOBAL_OPTIONS,
  type Invocation,
  isEmptyOrDotSegment,
} from './command.ts'
import { usageOf } from './help.ts'
import { parseFileLocation } from './location.ts'

export type Parsed = Pick<Invocation, 'value' | 'all' | 'has'>

/** Finds a command by the first words, and returns the rest. Throws BadUsage with the closest command. */
export function findCommand(
  commands: readonly Command[],
  tokens: readonly string[],
): { command: Command; rest: string[] } {
  const command = commands
    .filter(({ name }) => name.split(' ').every((part, at) => tokens[at] === part))
    .sort((a, b) => b.name.length - a.name.length)[0]
  if (command !== undefined) return { command, rest: tokens.slice(command.name.split(' ').length) }
  const typed = tokens.filter((word) => !word.startsWith('-'))
  const group = groupOf(commands, typed)
  if (group.length === typed.length && group.length > 0) {
    const verbs = nextTokens(commands, group).join(', ')
    throw new BadUsage(`"berth ${group.join(' ')}" needs another word: ${verbs}`)
  }
  const upTo = typed.slice(0, group.length + 1).join(' ')
  const candidates = nextTokens(commands, group).map((word) => [...group, word].join(' '))
  const near = closestMatch(upTo, candidates)
  const hint = near === undefined ? 'see berth --help' : `did you mean "berth ${near}"?`
  if (tokens.length === 0) throw new BadUsage('no command was given; see berth --help')
  throw new BadUsage(
    typed.length === 0
      ? `no such option: ${tokens.join(' ')}; see berth --help`
      : `there is no "berth ${upTo}"; ${hint}`,
  )
}

/** Returns the longest typed prefix of a command. */
export function groupOf(commands: readonly Command[], tokens: readonly string[]): string[] {
  let size = 0
  const begins = (many: number) =>
    commands.some(
      ({ name }) =>
        name.split(' ').length > many && tokens.slice(0, many).every((word, at) => name.split(' ')[at] === word),
    )
  while (size < tokens.length && begins(size + 1)) size++
  return tokens.slice(0, size)
}

/** Returns the words that can follow. */
export function nextTokens(commands: readonly Command[], group: readonly string[]): string[] {
  const below = commands.filter(({ name }) => group.every((word, at) => name.split(' ')[at] === word))
  return [...new Set(below.map(({ name }) => name.split(' ')[group.length]).filter((word) => word !== undefined))]
}

/** Parses the arguments and options of a command. Throws BadUsage with its usage line. */
export function parseArguments(command: Command, rest: readonly string[]): Parsed {
  const options = { ...command.options, ...GLOBAL_OPTIONS }
  const { values, positionals } = parsed(command, rest, options)
  mustBeComplete(command, positionals, values)
  const takes = command.arguments ?? []
  const places = new Map(takes.map(({ name }, at) => [name, positionals[at]]))
  const all = (name: string) => {
    const value = values[name]
    return Array.isArray(value) ? value.map(String) : typeof value === 'string' ? [value] : []
  }
  return { value: (name) => places.get(name) ?? all(name)[0], all, has: (name) => values[name] === true }
}

type Values = Record<string, string | boolean | (string | boolean)[] | undefined>

function parsed(command: Command, rest: readonly string[], options: NonNullable<Command['options']>) {
  const declared = Object.fromEntries(
    Object.entries(options).map(([name, { value, repeatable = false }]) => [
      name,
      {
        type: value === undefined ? ('boolean' as const) : ('string' as const),
        multiple: repeatable,
      },
    ]),
  )
  try {
    return parseArgs({ args: [...rest], options: declared, allowPositionals: true, strict: true }) as {
      values: Values
      positionals: string[]
    }
  } catch (error) {
    const [, typed] = /Unknown option '(--?[^']*)'/.exec((error as Error).message) ?? []
    if (typed === undefined) throw badUsage(command, valueTrouble(error as Error, options))
    const near = closestMatch(
      typed,
      Object.keys(options).map((name) => `--${name}`),
    )
    throw badUsage(command, `there is no option ${typed}${near === undefined ? '' : `; did you mean ${near}?`}`)
  }
}

/** Describes an option without its value, or a switch with one. */
function valueTrouble({ message }: Error, options: NonNullable<Command['options']>): string {
  const [, name = ''] = /--([\w-]+)/.exec(message) ?? []
  const value = options[name]?.value
  if (value === undefined) return options[name] === undefined ? message : `--${name} takes no value`
  return `--${name} needs its <${value}>; one that begins with "-" is typed as --${name}=<${value}>`
}

function mustBeComplete(command: Command, positionals: string[], values: Values): void {
  const takes = command.arguments ?? []
  const missing = takes.find(({ optional }, at) => optional !== true && positionals[at] === undefined)
  if (missing !== undefined) throw badUsage(command, `<${missing.name}> is missing: ${missing.description}`)
  if (positionals.length > takes.length) throw badUsage(command, `"${positionals[takes.length]}" is one word too many`)
  for (const [at, { name, oneOf, description, isFile, inBucket }] of takes.entries()) {
    const typed = positionals[at]
    if (typed === undefined) continue
    if (isFile ? typed === '' : isEmptyOrDotSegment(typed))
      throw badUsage(command, `<${name}> may not be "${typed}": ${description}`)
    if (isFile) mustBePlace(command, `<${name}>`, typed, inBucket)
    mustBeOneOf(command, `<${name}>`, oneOf, [typed])
  }
  for (const [name, { required, oneOf, isFile, inBucket }] of Object.entries(command.options ?? {})) {
    const value = values[name]
    if (required && value === undefined) throw badUsage(command, `--${name} is missing`)
    const typed = [value ?? []].flat().map(String)
    if (isFile) for (const place of typed) mustBePlace(command, `--${name}`, place, inBucket)
    mustBeOneOf(command, `--${name}`, oneOf, typed)
  }
}

function mustBePlace(command: Command, name: string, typed: string, inBucket: BucketKind | undefined): void {
  try {
    parseFileLocation(typed, inBucket)
  } catch (error) {
    throw badUsage(command, `${name}: ${(error as Error).message}`)
  }
}

function mustBeOneOf(command: Command, name: string, oneOf: readonly string[] | undefined, values: string[]): void {
  const wrong = oneOf && values.find((value) => !oneOf.includes(value))
  if (wrong !== undefined) throw badUsage(command, `${name} must be one of ${oneOf!.join(', ')}, not "${wrong}"`)
}

function badUsage(command: Command, message: string): BadUsage {
  return new BadUsage(`${message}\nusage: ${usageOf(command)}`)
}
