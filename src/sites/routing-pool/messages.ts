import type { Decision, MiddlewareState } from '../router/decision.ts'
import type { MiddlewareAnswer } from '../router/middleware.ts'
import type { VisitorRequest } from '../router/request.ts'

export type Question =
  | { kind: 'resolve'; request: VisitorRequest }
  | { kind: 'resume'; state: MiddlewareState; answer: MiddlewareAnswer }
  | { kind: 'error'; request: VisitorRequest; status: number }

/** A worker loads each site once and keeps it until it is dropped. `manifest`: a routing manifest as JSON. */
export type ToWorker =
  | { type: 'load'; site: string; manifest: string }
  | { type: 'drop'; site: string }
  | { type: 'ask'; site: string; question: Question }

/** `loaded`: starts the time limit of the question. `micros`: processor time of the decision. `failure`: message of a bug. */
export type FromWorker =
  | { loaded: true; micros: number }
  | { decision: Decision; micros: number }
  | { failure: string; micros: number }
