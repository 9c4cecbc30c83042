/** What the pool and its workers tell each other. */
import type { Decision, MiddlewareState } from '../router/decision.ts'
import type { MiddlewareAnswer } from '../router/middleware.ts'
import type { VisitorRequest } from '../router/request.ts'

/** What to decide. */
export type Question =
  | { kind: 'resolve'; request: VisitorRequest }
  | { kind: 'resume'; state: MiddlewareState; answer: MiddlewareAnswer }
  | { kind: 'error'; request: VisitorRequest; status: number }

/** A site is loaded once in each worker, until it is dropped. `manifest`: a routing manifest as JSON. */
export type ToWorker =
  | { type: 'load'; site: string; manifest: string }
  | { type: 'drop'; site: string }
  | { type: 'ask'; site: string; question: Question }

/** A worker says that it has loaded, so that the time for a question is that of the question. `micros`: processor time that the decision took. `failure`: the message of what was thrown, which is a bug. */
export type FromWorker =
  | { loaded: true; micros: number }
  | { decision: Decision; micros: number }
  | { failure: string; micros: number }
