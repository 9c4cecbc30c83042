/** Secret settings that lie in files: what systemd's LoadCredential, the secrets of Compose and a volume of Kubernetes give a service. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { BadSetting, type Setting } from './kinds.ts'

type Environment = Record<string, string | undefined>

/** No secret is longer; a keyring of 400 keys is not. */
const LONGEST_BYTES = 64 * 1024

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
    if (!entry.isFile() || entry.size > LONGEST_BYTES)
      throw new BadSetting(`${name}: ${file} must be a file of at most ${LONGEST_BYTES} bytes`)
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    if (error instanceof BadSetting) throw error
    throw new BadSetting(`${name}: cannot read ${file} (${(error as NodeJS.ErrnoException).code})`)
  }
}
