/** Requests of runners, by their paths and tokens. docs/building.md: Runner protocol. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Deps } from '../../context.ts'
import { bearerOf, closing, pathOf, plain, tokenCheck } from '../../platform/verdict/plain-answer.ts'
import type { EdgeResponse } from '../../platform/verdict/visitor-answer.ts'
import { endedByReport, findLease, type Holder } from '../builds/queue.ts'
import { LEASE_PATH } from '../protocol/runner-protocol.ts'
import { leaseLost } from './answers.ts'
import { openRunnerFiles } from './files.ts'
import { openLeaseDesk, refuseRunners } from './lease.ts'
import { answerBeat, answerFinish, answerLog } from './reports.ts'

/** Below a lease: deployment, attempt, what is asked for, and a file. */
const BELOW = /^\/runner\/v1\/builds\/([\w-]{1,100})\/([1-9]\d{0,8})\/([a-z]{1,10})(?:\/([0-9a-f]{64}))?$/

export type RunnerChannel = {
  /** Handles a request. Undefined when the response was already sent. */
  answer(request: IncomingMessage, response: ServerResponse): Promise<EdgeResponse | undefined>
  close(): void
}

/** Whether a path belongs to runners. */
export function isOfRunners(path: string): boolean {
  return path.startsWith('/runner/')
}

type Answer = (holder: Holder, request: IncomingMessage, response: ServerResponse, sha256: string) => Answered
type Answered = Promise<EdgeResponse | undefined>

/** Opens the channel. A lease needs BERTH_RUNNER_TOKEN; what is below a lease needs the token of that lease. */
export function openRunnerChannel(deps: Deps): RunnerChannel {
  const { runnerToken } = deps.config.builds
  const isRunner = runnerToken === undefined ? undefined : tokenCheck(runnerToken)
  const desk = openLeaseDesk(deps)
  const answers = answersOf(deps)
  return {
    close: desk.close,
    async answer(request, response) {
      const path = pathOf(request)
      if (isRunner === undefined) return refuseRunners()
      if (path === LEASE_PATH) {
        if (!isRunner(bearerOf(request))) return plain(401, 'Send BERTH_RUNNER_TOKEN as a bearer token.')
        return request.method === 'POST' ? desk.answer(request, response) : notAllowed('POST')
      }
      const [, deploymentId, attempt, what = '', sha256] = BELOW.exec(path) ?? []
      const found = answers[sha256 === undefined ? what : `${what}/*`]
      if (deploymentId === undefined || found === undefined)
        return plain(404, 'Not found. The paths are in docs/building.md')
      const [method, answer] = found
      if (request.method !== method) return notAllowed(method)
      const token = bearerOf(request)
      if (token === undefined || token.length > 100) return plain(401, 'Send the token of the lease as a bearer token.')
      const holder = { deploymentId, attempt: Number(attempt), token }
      // Nothing is read of a body before the lease is known.
      request.pause()
      if (!(await isKnown(deps, holder, what))) return closing(leaseLost())
      request.resume()
      return answer(holder, request, response, sha256 ?? '')
    },
  }
}

/** A report may be repeated, because its answer may be lost. Nothing else is answered once a build has ended. */
async function isKnown({ db }: Deps, holder: Holder, what: string): Promise<boolean> {
  if ((await findLease(db.read, holder)) !== undefined) return true
  return what === 'finish' && (await endedByReport(db.read, holder))
}

function answersOf(deps: Deps): Readonly<Record<string, readonly [method: string, answer: Answer]>> {
  const files = openRunnerFiles(deps)
  return {
    beat: ['POST', (holder, request) => answerBeat(deps, holder, request)],
    log: ['POST', (holder, request) => answerLog(deps, holder, request)],
    finish: ['POST', (holder, request) => answerFinish(deps, holder, request)],
    missing: ['POST', (holder, request) => files.missing(holder, request)],
    source: ['GET', (holder, _, response) => files.list(holder, response)],
    'source/*': ['GET', (holder, _, response, sha256) => files.read(holder, sha256, response)],
    'output/*': [
      'PUT',
      (holder, request, _, sha256) => {
        // The body is read once there is a turn for it.
        request.pause()
        return files.put(holder, sha256, request)
      },
    ],
  }
}

function notAllowed(method: string): EdgeResponse {
  return plain(405, `Only ${method} is supported here.`, { allow: method })
}
