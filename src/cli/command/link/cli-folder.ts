/** The configuration directory of the ecosystem's command line, with address, token and team (`-Q`). docs/clients.md: Link the command line. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { writeFileAtomically } from '../../../platform/adapters/atomic-file.ts'
import { createDirectory } from '../../../platform/adapters/directory.ts'
import { readText } from '../../../platform/adapters/file-errors.ts'
import { isThisMachine } from '../../../platform/base/network.ts'

type Settings = Record<string, unknown>

/** Returns a function that writes the private directory and keeps other settings. Throws where it has a login of another service, which would be lost. */
export function openCliFolder(
  directory: string,
  api: string,
): (login: { token: string; team: string | undefined }) => void {
  const [settingsFile, loginFile] = [join(directory, 'config.json'), join(directory, 'auth.json')]
  const settings = readSettings(settingsFile)
  if (existsSync(loginFile) && !isOurs(settings, api))
    throw new Error(`${directory} holds a login of another service: name an empty folder with --global-config`)
  return ({ token, team }) => {
    const { currentTeam: _, ...rest } = settings
    createDirectory(directory)
    writeFileAtomically(settingsFile, jsonLines({ ...rest, api, ...(team !== undefined && { currentTeam: team }) }))
    writeFileAtomically(loginFile, jsonLines({ token }))
  }
}

function readSettings(file: string): Settings {
  if (!existsSync(file)) return {}
  const text = readText(file)
  try {
    return { ...(JSON.parse(text) as Settings) }
  } catch {
    throw new Error(`${file} is not JSON: remove it, or name an empty folder with --global-config`)
  }
}

/** Whether an earlier `link-cli` wrote it: its port may have changed since. */
function isOurs({ api: previous }: Settings, api: string): boolean {
  if (typeof previous !== 'string') return false
  return previous === api || isThisMachine(URL.parse(previous)?.hostname ?? '')
}

function jsonLines(data: object): string {
  return `${JSON.stringify(data, null, 2)}\n`
}
