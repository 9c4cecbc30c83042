/** A command as data: what help, completion, the document and the parser are made from. */
import type { Config } from '../../config.ts'

/** What a bucket may be taken for: one object, or a folder too, whose name ends with no ".db". */
export type BucketKind = 'object' | 'object or folder'

export type Command = {
  /** What is typed after `berth`. */
  words: string
  summary: string
  arguments?: readonly Argument[]
  options?: Record<string, Option>
  /** A whole line as somebody would type it. */
  example: string
  /** What else somebody should know before. */
  details?: string
  /** Loads what it runs, and nothing else. */
  load(): Promise<RunCommand>
}

export type Argument = {
  name: string
  about: string
  optional?: true
  /** It names a place, which `parseFileLocation` reads. */
  isFile?: true
  /** The place may be in a bucket. */
  inBucket?: BucketKind
  oneOf?: readonly string[]
}

export type Option = {
  about: string
  /** The name of its value; without one it is a switch. */
  value?: string
  required?: true
  /** It may be given several times. */
  repeatable?: true
  /** It names a place, which `parseFileLocation` reads. */
  isFile?: true
  /** The place may be in a bucket. */
  inBucket?: BucketKind
  oneOf?: readonly string[]
  /** What a shell suggestions; the service knows more. */
  suggestions?: readonly string[]
}

/** What was typed, and where things come from. */
export type Invocation = {
  /** Reads the settings when they are first asked for. Throws BadSetting. */
  settings(): Config
  /** Of this process, for one that the command starts. */
  env: NodeJS.ProcessEnv
  /** An argument, or the value of an option. Undefined when it was not given. */
  value(name: string): string | undefined
  /** The values of an option that may be given several times. */
  all(name: string): string[]
  has(name: string): boolean
  progress: ProgressBar
  /** Tells a person something before the outcome: on stderr. */
  notice(text: string): void
  /** Asks a person, who answers with y or yes. Undefined where nobody sits at a terminal. */
  confirm?(question: string): Promise<boolean>
}

/** Shows how far long work is, where somebody can see it. */
export type ProgressBar = { show(part: string, done: number, total: number): void; end(): void }

/** What a command has to say: `data` to machines (`--json`), `text` to people; without a text, the data as lines. */
export type CommandResult = {
  data: unknown
  text?: string
  /** The text is a file, such as a `.env`: where no terminal reads it, not a character of it is replaced. */
  exact?: true
  /** Sentences for stderr, of what is not as it should be. */
  warnings?: string[]
  /** What the process ends with; 0 by default. */
  code?: number
}

/** Undefined: nothing to say, and the process goes on (`serve`). */
export type RunCommand = (invocation: Invocation) => Promise<CommandResult | undefined>

/** A command line that cannot be understood: the process says how to write one and ends with 64 (EX_USAGE). */
export class BadUsage extends Error {}

/** What no thing is called: in the path of a URL, these say another path. */
export function isEmptyOrDotSegment(text: string): boolean {
  return text === '' || text === '.' || text === '..'
}

/** What every command takes. */
export const GLOBAL_OPTIONS: Record<string, Option> = {
  json: { about: 'answer as JSON on stdout' },
  help: { about: 'say what the command takes' },
}
