/** Asks the middleware of a site, and routing goes on with its answer. docs/functions.md: Middleware. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { FunctionFailure } from '../functions/faults.ts'
import { type FunctionOwner, type FunctionSpec, specOf } from '../functions/function-spec.ts'
import type { FunctionRequest, Functions } from '../functions/functions.ts'
import type { Decision, MiddlewareState } from '../router/decision.ts'
import type { MiddlewareAnswer } from '../router/middleware.ts'
import type { VisitorRequest } from '../router/request.ts'
import { askProcess } from './ask-process.ts'

type MiddlewareDecision = Extract<Decision, { kind: 'middleware' }>

/** `resume`: routing after an answer. `withOwn`: the decision with the headers of the platform. `hidesPassword`: as of a call of a function. */
export type MiddlewareVisit = {
  owner: FunctionOwner
  request: VisitorRequest
  ip: string
  hidesPassword: boolean
  resume(state: MiddlewareState, answer: MiddlewareAnswer): Promise<Decision>
  withOwn(decision: Decision): Decision
}

type Exchange = { raw: IncomingMessage; response: ServerResponse }

/** Of one request. Each middleware of a deployment is asked once. */
const MOST = 8

/**
 * Asks until a decision is not for a middleware, and gives that one. Gives `done` where a middleware answered the visitor or the visitor left, and the
 * failure of one. A middleware that does not run here stays the decision. Throws after a part of an answer was sent.
 */
export async function runMiddleware(
  functions: Functions | undefined,
  first: Decision,
  visit: MiddlewareVisit,
  exchange: Exchange,
): Promise<Decision | FunctionFailure | 'done'> {
  let decision = first
  for (let calls = 0; decision.kind === 'middleware'; calls++) {
    const spec = decision.bundle && specOf(visit.owner, decision.bundle, 'middleware')
    if (spec === undefined || functions === undefined) return decision
    if (calls === MOST) return inCircles(decision)
    const next = await askOne(functions, decision, { ...visit, spec }, exchange)
    if (next === 'gone' || next === 'done') return 'done'
    if (next instanceof FunctionFailure) return next
    decision = next
  }
  return decision
}

function askOne(
  functions: Functions,
  { request: given, state, ...rules }: MiddlewareDecision,
  { spec, request, ip, hidesPassword, resume, withOwn }: MiddlewareVisit & { spec: FunctionSpec },
  exchange: Exchange,
): Promise<Decision | FunctionFailure | 'done' | 'gone'> {
  const invocation = { ...given, matchedPath: '', concretePath: given.path, routeMatches: '' }
  const call = { request, ip, invocation, path: given.path, status: undefined, rules, hidesPassword }
  const order: FunctionRequest = { spec, call }
  const decide = async (answer: MiddlewareAnswer) => withOwnAnswer(await resume(state, answer), withOwn)
  return functions.ask(order, exchange, (lease, sent, signal) => askProcess(lease, sent, { exchange, signal, decide }))
}

/** Other decisions get the headers of the platform when they are carried out. */
function withOwnAnswer(decision: Decision, withOwn: MiddlewareVisit['withOwn']): Decision {
  return decision.kind === 'answer' ? withOwn(decision) : decision
}

function inCircles({ headers, cookies, responseTransforms, rules, reusable, looked }: MiddlewareDecision): Decision {
  const routed = { headers, cookies, responseTransforms, rules, reusable, looked }
  return { ...routed, kind: 'error', status: 508, code: 'INFINITE_LOOP_DETECTED' }
}
