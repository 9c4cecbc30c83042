/** What a runner reports below its lease: beats, lines of the log, and the end. docs/building.md: Runner protocol. */
import type { IncomingMessage } from 'node:http'
import type { Deps } from '../../context.ts'
import { json } from '../../platform/verdict/plain-answer.ts'
import type { EdgeResponse } from '../../platform/verdict/visitor-answer.ts'
import { READERS } from '../../readers.ts'
import { failBuild, releaseBuild, transactQueue } from '../builds/end.ts'
import { countEndedBuild } from '../builds/figures.ts'
import { finishWithOutput } from '../builds/finish.ts'
import { appendLog } from '../builds/log.ts'
import { endedByReport, type Holder, moveDeployment, type Outcome, renewLease } from '../builds/queue.ts'
import { Beat, Finish, LEASE_TIMES, type LeaseState, LogBatch } from '../protocol/runner-protocol.ts'
import { fault, leaseLost, readJson } from './answers.ts'

/** Renews a lease. Any step after `preparing` says that the build runs. */
export async function answerBeat(deps: Deps, holder: Holder, request: IncomingMessage): Promise<EdgeResponse> {
  const body = await readJson(request, Beat, 'short')
  if ('answer' in body) return body.answer
  const renewed = await transactQueue(deps, async (ctx) => {
    const done = await renewLease(ctx, holder)
    if (done.outcome === 'ok' && body.value.step !== 'preparing')
      await moveDeployment(ctx, done.build!, 'INITIALIZING', 'build_started')
    return done
  })
  return stateOf(renewed)
}

/** Stores lines of the log, and renews the lease. 400 for a gap. */
export async function answerLog(deps: Deps, holder: Holder, request: IncomingMessage): Promise<EdgeResponse> {
  const body = await readJson(request, LogBatch, 'log')
  if ('answer' in body) return body.answer
  const appended = await appendLog(deps, holder, body.value)
  if (appended.outcome === 'lease_lost') return leaseLost()
  if (appended.outcome === 'gap') {
    const { first } = body.value
    return fault(400, 'bad_request', `The body is wrong: first is ${first}, and line ${appended.acknowledged} is next.`)
  }
  return stateOf(await transactQueue(deps, (ctx) => renewLease(ctx, holder)))
}

function stateOf({ outcome, acknowledged }: { outcome: Outcome; acknowledged: number }): EdgeResponse {
  if (outcome === 'lease_lost') return leaseLost()
  const state: LeaseState = {
    acknowledged,
    leaseMs: LEASE_TIMES.leaseMs,
    cancel: outcome === 'cancel_requested',
  }
  return json(200, state)
}

/** Ends a build, once: a repeated report gets the answer of the first one, and changes nothing. A report for a lost lease gets 409. */
export async function answerFinish(deps: Deps, holder: Holder, request: IncomingMessage): Promise<EdgeResponse> {
  const body = await readJson(request, Finish, 'finish')
  if ('answer' in body) {
    // A tenant can cause this by long links: without an end the build would be tried again.
    if (body.answer.status === 413) await transactQueue(deps, (ctx) => failBuild(ctx, holder, TOO_LONG))
    return body.answer
  }
  const outcome = await finish(deps, holder, body.value)
  if (outcome === 'lease_lost') return (await endedByReport(deps.db.read, holder)) ? json(200, {}) : leaseLost()
  await countEndedBuild(deps, holder)
  return json(200, {})
}

const TOO_LONG = {
  code: 'BUILD_OUTPUT_REFUSED',
  message: `The list of the files and links of the output has more than ${READERS['result of a build'].bytes / 1024 ** 2} MiB. Have fewer of them, or shorter paths and links.`,
} as const

async function finish(deps: Deps, holder: Holder, report: Finish): Promise<Outcome> {
  if (report.outcome === 'succeeded') return finishWithOutput(deps, holder, report.entries)
  if (report.outcome === 'failed') return transactQueue(deps, (ctx) => failBuild(ctx, holder, report))
  return transactQueue(deps, (ctx) => releaseBuild(ctx, holder, report.reason))
}
