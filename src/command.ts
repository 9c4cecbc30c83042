/** What a person types after `berth`: nothing or `serve` to run the service, `keys …` and `audit …` to speak to the one that runs. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from './config.ts'

/** A command line that cannot be understood: the process says how to write one and ends with 64 (EX_USAGE). */
export class BadUsage extends Error {}

const USAGE =
  'usage: berth [serve] | berth keys rotate | berth keys status | berth keys retire <id> | berth audit verify [<head>]'

/** `mustHold`: a field of the answer that has to be true, for the command to end well. */
type OperatorRequest = { method: string; path: string; mustHold?: string }

/** The request of the operator API that the words ask for; undefined to run the service. Throws BadUsage. */
export function requestOf(words: readonly string[]): OperatorRequest | undefined {
  const [first = 'serve', verb, id, ...rest] = words
  if (first === 'serve' && verb === undefined) return undefined
  if (first === 'keys' && rest.length === 0) {
    if (verb === 'rotate' && id === undefined) return { method: 'POST', path: '/operator/v1/keys/rotate' }
    if (verb === 'status' && id === undefined) return { method: 'GET', path: '/operator/v1/keys' }
    if (verb === 'retire' && id) return { method: 'DELETE', path: `/operator/v1/keys/${encodeURIComponent(id)}` }
  }
  if (first === 'audit' && verb === 'verify' && rest.length === 0) {
    const query = id === undefined ? '' : `?head=${encodeURIComponent(id)}`
    return { method: 'GET', path: `/operator/v1/audit/verify${query}`, mustHold: 'verified' }
  }
  throw new BadUsage(USAGE)
}

/**
 * Asks the running service, at BERTH_PUBLIC_URL or HOST and PORT, with the operator token of the settings or of
 * `credentials.json`. Gives the text of its answer. Throws with the service's own sentence when it refuses.
 */
export async function askService(config: Config, { method, path, mustHold }: OperatorRequest): Promise<string> {
  const origin = config.publicUrl ?? `http://${config.host}:${config.port}`
  const headers = { authorization: `Bearer ${config.operatorToken ?? keptToken(config)}` }
  let answer: Response
  try {
    answer = await fetch(`${origin}${path}`, { method, headers })
  } catch (error) {
    throw new Error(`no service answers at ${origin}; start one with npm start`, { cause: (error as Error).cause })
  }
  const text = await answer.text()
  if (answer.ok && mustHold !== undefined && JSON.parse(text)[mustHold] !== true) throw new Error(text)
  if (answer.ok) return text
  const told = text.startsWith('{') ? (JSON.parse(text) as { error?: { message?: string } }).error?.message : undefined
  throw new Error(told ?? `the service answered ${answer.status}`)
}

function keptToken({ dataFolder }: Config): string {
  const file = join(dataFolder, 'credentials.json')
  try {
    const { operatorToken } = JSON.parse(readFileSync(file, 'utf8')) as { operatorToken?: string }
    if (operatorToken !== undefined) return operatorToken
  } catch (error) {
    throw new Error(`no operator token: set BERTH_OPERATOR_TOKEN, or BERTH_DATA to the folder of ${file}`, {
      cause: error,
    })
  }
  throw new Error(`${file} holds no operator token: set BERTH_OPERATOR_TOKEN`)
}
