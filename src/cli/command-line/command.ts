/** A command as data, for help, completion, documentation and the parser. */
import type { Config } from '../../config.ts'

/** Valid objects of a bucket: one object, or also a directory, whose name does not end in ".db". */
export type BucketKind = 'object' | 'object or folder'

export type Command = {
  /** The words after `berth`. */
  name: string
  summary: string
  arguments?: readonly Argument[]
  options?: Record<string, Option>
  /** A complete example line. */
  example: string
  details?: string
  /** Loads only the code of this command. */
  load(): Promise<RunCommand>
}

export type Argument = {
  name: string
  description: string
  optional?: true
  /** It names a location for `parseFileLocation`. */
  isFile?: true
  /** The location may be in a bucket. */
  inBucket?: BucketKind
  oneOf?: readonly string[]
}

export type Option = {
  description: string
  /** The name of its value; without one it is a switch. */
  value?: string
  required?: true
  repeatable?: true
  /** As for an argument. */
  isFile?: true
  inBucket?: BucketKind
  oneOf?: readonly string[]
  /** Suggestions of a shell; the service accepts more values. */
  suggestions?: readonly string[]
}

/** The typed arguments and the environment of a command. */
export type Invocation = {
  /** Reads the settings on first use. Throws BadSetting. */
  settings(): Config
  /** Of this process, for a child process. */
  env: NodeJS.ProcessEnv
  /** An argument, or the value of an option. Undefined when it is missing. */
  value(name: string): string | undefined
  /** The values of a repeatable option. */
  all(name: string): string[]
  has(name: string): boolean
  progress: ProgressBar
  /** Prints a message for the user on stderr, before the result. */
  notice(text: string): void
  /** Prompts the user for y or yes. Undefined without a terminal. */
  confirm?(question: string): Promise<boolean>
}

/** Shows the progress of long work on a terminal. */
export type ProgressBar = { show(part: string, done: number, total: number): void; end(): void }

/** The result of a command: `data` for `--json`, `text` for a terminal; without a text, the data as lines. */
export type CommandResult = {
  data: unknown
  text?: string
  /** The text is a file, such as a `.env`: outside a terminal it is printed byte for byte. */
  exact?: true
  /** Warnings for stderr. */
  warnings?: string[]
  /** The exit code. */
  code?: number
}

/** Undefined: no output, and the process continues (`serve`). */
export type RunCommand = (invocation: Invocation) => Promise<CommandResult | undefined>

/** An invalid command line: the process prints the usage and exits with 64 (EX_USAGE). */
export class BadUsage extends Error {}

/** Returns whether a name is empty, `.` or `..`, which would change the path of a URL. */
export function isEmptyOrDotSegment(text: string): boolean {
  return text === '' || text === '.' || text === '..'
}

/** Options of every command. */
export const GLOBAL_OPTIONS: Record<string, Option> = {
  json: { description: 'answer as JSON on stdout' },
  help: { description: 'say what the command takes' },
}
