/** How code says no: `refuse(key)` with a row of the table in errors.ts. */
import { REFUSALS, type RefusalKey } from './errors.ts'
import type { RefusalExtra } from './http/refusal-shape.ts'

/** An expected no. Anything else that is thrown is a bug and a 500 that says nothing of its inside. */
export class Refusal extends Error {
  readonly key: RefusalKey
  readonly status: number
  readonly extra: RefusalExtra

  constructor(key: RefusalKey, message: string, extra: RefusalExtra) {
    super(message)
    this.key = key
    this.status = REFUSALS[key][0]
    this.extra = extra
  }
}

/** Refuses with a row of the table. `message` replaces its sentence, `extra` is sent beside code and message. */
export function refuse(key: RefusalKey, message: string = REFUSALS[key][2], extra: RefusalExtra = {}): never {
  throw new Refusal(key, message, extra)
}
