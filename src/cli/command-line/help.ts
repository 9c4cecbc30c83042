/** Help texts: of a command, of a group, of all. */
import { VERSION } from '../../platform/base/version.ts'
import { type Command, GLOBAL_OPTIONS, type Option } from './command.ts'

/** Returns the usage line of a command. */
export function usageOf({ name, arguments: takes = [], options = {} }: Command): string {
  const named = takes.map(({ name, optional }) => (optional ? `[${name}]` : `<${name}>`))
  const required = Object.entries(options)
    .filter(([, option]) => option.required)
    .map(([name, option]) => formatOption(name, option))
  const open = Object.values(options).some((option) => !option.required) ? ['[options]'] : []
  return ['berth', name, ...named, ...required, ...open].join(' ')
}

/** Returns the help of one command. */
export function helpOf(command: Command): string {
  const takes = (command.arguments ?? []).map(({ name, description, oneOf }): [string, string] => [
    `<${name}>`,
    choice(description, oneOf),
  ])
  const options = Object.entries({ ...command.options, ...GLOBAL_OPTIONS }).map(([name, option]): [string, string] => [
    formatOption(name, option),
    choice(option.description, option.oneOf, option.repeatable),
  ])
  return [
    `usage: ${usageOf(command)}`,
    '',
    `${command.summary}.`,
    ...(command.details === undefined ? [] : [command.details]),
    '',
    ...columns([...takes, ...options]),
    '',
    `example: ${command.example}`,
  ].join('\n')
}

/** Returns the list of commands with this prefix. */
export function helpOfMany(commands: readonly Command[]): string {
  const rows = commands.map((command): [string, string] => [
    ['berth', command.name, ...(command.arguments ?? []).map(({ name }) => `<${name}>`)].join(' '),
    command.summary,
  ])
  return [
    `Berth ${VERSION}: a self-hosted control plane for deployment platforms`,
    '',
    'usage: berth <command> [options]',
    ...grouped(commands, rows),
    '',
    'Every command takes --help and --json. Settings are environment variables: see docs/settings.md.',
  ].join('\n')
}

/** Lines per group with aligned columns: commands of one word first, then by their first word. */
function grouped(commands: readonly Command[], rows: [string, string][]): string[] {
  const lines = columns(rows)
  const groupOf = ({ name }: Command) => (name.includes(' ') ? name.split(' ')[0]! : 'service')
  const groups = Map.groupBy(commands.keys(), (at) => groupOf(commands[at]!))
  return [...groups].flatMap(([group, members]) => ['', `${group}:`, ...[...members].map((at) => lines[at]!)])
}

/** Returns an option with its value. */
export function formatOption(name: string, { value }: Option): string {
  return value === undefined ? `--${name}` : `--${name} <${value}>`
}

/** Returns the description of an argument or option, with its values. */
export function choice(about: string, oneOf: readonly string[] | undefined, many = false): string {
  const choices = oneOf === undefined || about.includes(oneOf.at(-1)!) ? '' : `; one of ${oneOf.join(', ')}`
  return `${about}${choices}${many ? '; may be given several times' : ''}`
}

function columns(rows: [string, string][]): string[] {
  const width = Math.max(...rows.map(([label]) => label.length))
  return rows.map(([label, right]) => `  ${label.padEnd(width)}  ${right}`)
}
