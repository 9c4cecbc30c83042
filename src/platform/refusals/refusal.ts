/** How code says no: `refuse(key)` with a row of the table in errors.ts. */
import { REFUSALS, type RefusalKey } from '../../errors.ts'
import type { RefusalExtra } from './error-body.ts'

/** An expected no. Anything else that is thrown is a bug and a 500 that says nothing of its inside. */
export class Refusal extends Error {
  readonly key: RefusalKey
  readonly status: number
  readonly extra: RefusalExtra
  /** Headers of the answer that says it. */
  readonly headers: Record<string, string> | undefined

  constructor(key: RefusalKey, message: string, extra: RefusalExtra, headers?: Record<string, string>) {
    super(message)
    this.key = key
    this.status = REFUSALS[key][0]
    this.extra = extra
    this.headers = headers
  }

  /** The same refusal, told with these headers besides its own. */
  withHeaders(headers: Record<string, string>): Refusal {
    return new Refusal(this.key, this.message, this.extra, { ...headers, ...this.headers })
  }
}

/** Refuses with a row of the table. `message` replaces its sentence, `extra` is sent beside code and message, `headers` with the answer. */
export function refuse(
  key: RefusalKey,
  message: string = REFUSALS[key][2],
  extra: RefusalExtra = {},
  headers?: Record<string, string>,
): never {
  throw new Refusal(key, message, extra, headers)
}
