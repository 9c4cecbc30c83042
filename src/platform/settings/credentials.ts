/** Secret settings: they may lie in files, as systemd's LoadCredential, the secrets of Compose and a volume of Kubernetes give them, and no message repeats them. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { BadSetting, readSetting, type Setting } from './types.ts'

type Environment = Record<string, string | undefined>

/** No secret is longer; a keyring of 400 keys is not. */
const MAX_BYTES = 64 * 1024

/**
 * Gives the environment with each secret setting that it lacks, and that is a file of the setting's name in the folder
 * `CREDENTIALS_DIRECTORY`. One line end at the end of a file is dropped. What is set in the environment counts before a file. Throws
 * BadSetting, which names the setting and not what the file holds, when a file cannot be read. docs/deploying.md: Secrets.
 */
export function withCredentials(env: Environment, settings: Record<string, Setting>): Environment {
  const folder = env.CREDENTIALS_DIRECTORY
  if (!folder) return env
  const names = Object.keys(settings).filter((name) => settings[name]!.secret && !env[name])
  return { ...env, ...Object.fromEntries(names.map((name) => [name, readCredential(name, join(folder, name))])) }
}

/** Undefined where there is no such file. */
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

/** Shorter pieces are in every sentence. */
const MIN_PIECE = 4

/**
 * Reads one setting by its row. No message repeats any part of a secret: a setting that is marked so, or a URL with a user in it. What was
 * not understood may be a part of a password wherever it stands. So where the sentence of a kind repeats a piece of it, the row alone says what the setting
 * may be. Throws BadSetting. docs/operations.md: Start and stop.
 */
export function readUnrepeated(name: string, text: string, { kind, secret }: Setting): unknown {
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

/** Whether a message has a piece of the text that is not among the words of the row. */
function repeats(message: string, text: string, words: string): boolean {
  const pieces = text.split(/[^\p{L}\p{N}]+/u).filter((piece) => piece.length >= MIN_PIECE)
  return message.includes(text) || pieces.some((piece) => message.includes(piece) && !words.includes(piece))
}
