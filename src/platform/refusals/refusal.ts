/** Expected errors: `refuse(key)` with a row of the table in errors.ts. */
import { REFUSALS, type RefusalKey } from '../../errors.ts'
import type { RefusalExtra } from './error-body.ts'

/** Characters of a message: what a client sent may be quoted in it. docs/limits.md: Sizes and timeouts. */
const MAX_MESSAGE = 1000
/** TABLE Characters of messages that list errors, each with a path of the client. */
const MAX_LIST: Partial<Record<RefusalKey, number>> = { output_refused: 32_000 }

/** An expected error. Any other exception is a bug and a bare 500. */
export class Refusal extends Error {
  readonly key: RefusalKey
  readonly status: number
  readonly extra: RefusalExtra
  readonly headers: Record<string, string> | undefined

  constructor(key: RefusalKey, message: string, extra: RefusalExtra, headers?: Record<string, string>) {
    const max = MAX_LIST[key] ?? MAX_MESSAGE
    super(message.length > max ? `${message.slice(0, max - 1)}…`.toWellFormed() : message)
    this.key = key
    this.status = REFUSALS[key][0]
    this.extra = extra
    this.headers = headers
  }

  /** Returns the refusal with additional headers. */
  withHeaders(headers: Record<string, string>): Refusal {
    return new Refusal(this.key, this.message, this.extra, { ...headers, ...this.headers })
  }
}

/** Refuses with a row of the table. `message` replaces its message, `extra` is added to the body, `headers` to the response. */
export function refuse(
  key: RefusalKey,
  message: string = REFUSALS[key][2],
  extra: RefusalExtra = {},
  headers?: Record<string, string>,
): never {
  throw new Refusal(key, message, extra, headers)
}
