/** `berth link-cli`: points the ecosystem's command line to this Berth. docs/clients.md: Link the command line. */
import { join, resolve } from 'node:path'
import { type Config, listenOrigin } from '../../../config.ts'
import { isThisMachine } from '../../../platform/base/network.ts'
import { authorityFile, localNames } from '../../../platform/tls/local-certificate.ts'
import { BadUsage, type CommandResult, type Invocation } from '../../command-line/command.ts'
import { oneLine } from '../../command-line/print.ts'
import { callService, clientToken, ServiceError, servicePath } from '../service-client.ts'
import { aliasLine } from './alias-line.ts'
import { openCliFolder } from './cli-folder.ts'
import { certify } from './handshake.ts'

type Named = { id: string; slug: string }

const WARNING =
  'without this line, and by its other name vc, the command line asks the hosted platform: a plain "vercel deploy" uploads your source there'

/**
 * Writes the directory of the command line and prints a shell alias. Throws, and writes nothing, where the service is unreachable or without https,
 * token or team are invalid, the directory has a login of another service, or no shell can read a path.
 */
export async function linkCliCommand(invocation: Invocation): Promise<CommandResult> {
  const config = invocation.settings()
  const token = invocation.value('token') ?? clientToken(config)
  const { api, authority } = placeOf(config)
  const named = invocation.value('global-config')
  if (named === '') throw new BadUsage('--global-config names no folder')
  const directory = resolve(named ?? join(config.dataDirectory, 'cli'))
  const line = aliasLine(directory, authority)
  const write = openCliFolder(directory, api)
  const ask = (path: string) => callService({ ...config, clientToken: token }, { method: 'GET', path, as: 'client' })
  const { user } = (await ask('/v2/user')) as { user: { username: string } }
  const team = await teamOf(ask, invocation.value('team'))
  if (localNames(config) !== undefined) await certify(api, authority!)
  write({ token, team: team?.id })
  const username = oneLine(user.username)
  const text = [
    'Add this line to ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish, and open a new shell:',
    '',
    `  ${line}`,
    '',
    `vercel then asks ${api} as ${username}${team === undefined ? '' : `, for the team ${oneLine(team.slug)}`}.`,
  ]
  const data = { alias: line, api, folder: directory, authority, user: username, team: team?.slug }
  return { data, text: text.join('\n'), warnings: [WARNING] }
}

/** The https address, and the file of its authority; undefined for a public one. */
function placeOf(config: Config): { api: string; authority: string | undefined } {
  const { publicUrl, tls, host } = config
  const own = tls && resolve(tls.cert)
  if (localNames(config) !== undefined)
    return { api: listenOrigin({ ...config, tls: { cert: '', key: '' } }), authority: resolve(authorityFile(config)) }
  if (publicUrl?.startsWith('https:')) return { api: publicUrl, authority: own }
  if (own !== undefined && publicUrl === undefined && isThisMachine(host))
    return { api: listenOrigin(config), authority: own }
  throw new Error(
    'the service has no https address, and newer command lines speak https alone: set BERTH_PUBLIC_URL to one (docs/tls.md), or HOST to 127.0.0.1 on a laptop',
  )
}

async function teamOf(ask: (path: string) => Promise<unknown>, name: string | undefined): Promise<Named | undefined> {
  if (name === undefined) return undefined
  try {
    return (await ask(servicePath('/v2/teams', [name]))) as Named
  } catch (error) {
    if (!(error instanceof ServiceError && [400, 403, 404].includes(error.status))) throw error
    throw new Error(`the user of the token is in no team "${name}": berth team list shows all teams`, { cause: error })
  }
}
