/** Asks the control plane for the variables of functions. They are kept nowhere but in the processes. docs/functions.md: Environment. */
import { Pool } from 'undici'
import { FUNCTION_ENVIRONMENT_PATH, MAX_ENVIRONMENT_BYTES } from '../../delivery/protocol/function-channel.ts'
import { readWithin } from '../../platform/fairness/read-within.ts'
import { FunctionFailure } from './faults.ts'

/** `masked`: the keys of those that are secret. */
type FunctionEnvironment = { env: Record<string, string>; masked: string[] }

export type EnvironmentSource = {
  /** Returns the variables of a deployment. Throws FunctionFailure. */
  get(deploymentId: string): Promise<FunctionEnvironment>
  close(): Promise<void>
}

const CONNECTIONS = 8
const CONNECT_MS = 3000
const ANSWER_MS = 30_000

/** Opens a client of the control plane at `origin`, with BERTH_SITES_TOKEN. */
export function openEnvironmentSource(origin: string, token: string): EnvironmentSource {
  const pool = new Pool(origin, { connections: CONNECTIONS, pipelining: 1, connect: { timeout: CONNECT_MS } })
  const ask = async (deploymentId: string) => {
    const { statusCode, body } = await pool.request({
      method: 'GET',
      path: FUNCTION_ENVIRONMENT_PATH + encodeURIComponent(deploymentId),
      headers: { authorization: `Bearer ${token}` },
      headersTimeout: ANSWER_MS,
      bodyTimeout: ANSWER_MS,
    })
    const tooLong = () => new Error('the control plane sent too many variables')
    const text = (await readWithin(body, MAX_ENVIRONMENT_BYTES, tooLong)).toString()
    if (statusCode !== 200) throw new Error(`the control plane answered ${statusCode}: ${text.slice(0, 200).trim()}`)
    const { env, masked = [] } = JSON.parse(text) as Partial<FunctionEnvironment>
    return { env: env ?? {}, masked }
  }
  return {
    get: (deploymentId) =>
      ask(deploymentId).catch((error: Error) => {
        const message = 'its variables cannot be had from the control plane'
        throw new FunctionFailure('INTERNAL_FUNCTION_SERVICE_UNAVAILABLE', message, error)
      }),
    close: () => pool.destroy(),
  }
}
