/** Secret settings: from files (systemd LoadCredential, Compose secrets, Kubernetes volumes), and never repeated in messages. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { BadSetting, readSetting, type Setting } from './types.ts'

type Environment = Record<string, string | undefined>

/** Enough for a keyring of 400 keys. */
const MAX_BYTES = 64 * 1024

/**
 * Adds each unset secret setting that is a file of its name in `CREDENTIALS_DIRECTORY`. The environment wins. One line end at the end of a file is
 * dropped. Throws BadSetting without the content if a file cannot be read. docs/deploying.md: Secrets.
 */
export function withCredentials(env: Environment, settings: Record<string, Setting>): Environment {
  const directory = env.CREDENTIALS_DIRECTORY
  if (!directory) return env
  const names = Object.keys(settings).filter((name) => settings[name]!.secret && !env[name])
  return { ...env, ...Object.fromEntries(names.map((name) => [name, readCredential(name, join(directory, name))])) }
}

/** Undefined without such a file. */
function readCredential(name: string, file: string): string | undefined {
  try {
    const entry = statSync(file, { throwIfNoEntry: false })
    if (entry === undefined) return undefined
    if (!entry.isFile() || entry.size > MAX_BYTES)
      throw new BadSetting(`${name}: ${file} must be a file of at most ${MAX_BYTES} bytes`)
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    if (error instanceof BadSetting) throw error
    throw new BadSetting(`${name}: cannot read ${file} (${(error as NodeJS.ErrnoException).code})`)
  }
}

/** Shorter pieces occur in any message. */
const MIN_PIECE = 4

/**
 * Reads a setting by its row. No message repeats a part of a secret: a secret setting, or a URL with a user. The invalid part may be a piece of a
 * password, so a message that repeats one is replaced by the allowed values. Throws BadSetting. docs/operations.md: Start and stop.
 */
export function readUnrepeated(name: string, text: string, { type: kind, secret }: Setting): unknown {
  try {
    return readSetting(name, text, kind)
  } catch (error) {
    if (!(error instanceof BadSetting)) throw error
    const isSecret = secret === true || /:\/\/.*@/s.test(text)
    if (!isSecret || !repeats(error.message, text, `${name} ${kind.values}`)) throw error
    const values = kind.values.replaceAll('`', '')
    throw new BadSetting(`${name} must be ${values}; what is set is not shown here, because it may be secret`)
  }
}

/** Whether a message contains a piece of the text that is not among the words of the row. */
function repeats(message: string, text: string, words: string): boolean {
  const pieces = text.split(/[^\p{L}\p{N}]+/u).filter((piece) => piece.length >= MIN_PIECE)
  return message.includes(text) || pieces.some((piece) => message.includes(piece) && !words.includes(piece))
}
