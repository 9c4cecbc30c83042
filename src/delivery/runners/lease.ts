/** Leases of runners: `POST /runner/v1/builds/lease`, held open until a build waits. docs/building.md: Runner protocol. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { sql } from 'kysely'
import type { Deps } from '../../context.ts'
import { environmentName } from '../../model/environment.ts'
import type { Row } from '../../platform/db/schema.ts'
import { type HeldRequests, openHeldRequests } from '../../platform/fairness/held-requests.ts'
import { json } from '../../platform/verdict/plain-answer.ts'
import type { EdgeResponse } from '../../platform/verdict/visitor-answer.ts'
import { failBuild, transactQueue } from '../builds/end.ts'
import { environmentOfBuild } from '../builds/environment.ts'
import { recordVariableRead } from '../builds/frozen-variables.ts'
import { appendOwnLines } from '../builds/log.ts'
import { acquireBuild, giveBack, type Holder } from '../builds/queue.ts'
import { type BuildSettings, LEASE_TIMES, type Lease, LeaseRequest } from '../protocol/runner-protocol.ts'
import { fault, readJson } from './answers.ts'
import { recordRunner, takesBuilds } from './registry.ts'

/** Another process may have queued a build, so one held request of this process asks the database this often. */
const POLL_MS = 1000

export type LeaseDesk = {
  answer(request: IncomingMessage, response: ServerResponse): Promise<EdgeResponse>
  /** Answers waiting requests, and lets no others wait. */
  close(): void
}

type Waiting = {
  /** One of them asks once a build is queued. */
  held: HeldRequests
  /** Of runners that are drained. A build that wakes one of them would wait. */
  idle: HeldRequests
  wakes: number
  timer: NodeJS.Timeout | undefined
}

/** Opens the desk of leases. A create wakes it by `deps.wakeups.builds`. */
export function openLeaseDesk(deps: Deps): LeaseDesk {
  const held = openHeldRequests(deps.shutdownSignal)
  const waiting: Waiting = { held, idle: openHeldRequests(deps.shutdownSignal), wakes: 0, timer: undefined }
  deps.wakeups.builds = () => wake(waiting)
  return {
    close() {
      clearTimeout(waiting.timer)
      held.end()
      waiting.idle.end()
    },
    async answer(request, response) {
      const body = await readJson(request, LeaseRequest, 'short')
      if ('answer' in body) return body.answer
      const state = await recordRunner(deps, body.value)
      if (state === 'removed' || state === 'full') return turnAway(state)
      const set = state === 'draining' ? waiting.idle : held
      return waitForLease(deps, waiting, { runner: body.value.runner, set }, response)
    },
  }
}

function wake(waiting: Waiting): void {
  waiting.wakes++
  waiting.held.wakeOne()
}

function arm(waiting: Waiting): void {
  const { held, idle } = waiting
  waiting.timer ??= setTimeout(() => {
    waiting.timer = undefined
    if (held.size() === 0 && idle.size() === 0) return
    arm(waiting)
    held.wakeOne()
    // They may be resumed.
    idle.wake()
  }, POLL_MS)
}

async function waitForLease(
  deps: Deps,
  waiting: Waiting,
  { runner, ...first }: { runner: string; set: HeldRequests },
  response: ServerResponse,
): Promise<EdgeResponse> {
  const { held, idle } = waiting
  const until = performance.now() + LEASE_TIMES.pollMs
  let { set } = first
  // A new one waits behind the others. One asks at a time.
  let asks = held.size() === 0
  for (;;) {
    const lease = asks && !held.isOver() ? await leaseFor(deps, waiting, runner, response) : undefined
    // No build woke a lane of a drained runner, so it passes none on.
    const passesOn = lease === 'drained' ? set === held : lease !== undefined || response.destroyed
    if (passesOn) held.wakeOne()
    if (lease === 'drained') set = idle
    else if (lease !== undefined) return json(200, lease)
    arm(waiting)
    if (!(await set.hold(response, until - performance.now()))) return none(held.isOver())
    asks = !response.destroyed
  }
}

async function leaseFor(
  deps: Deps,
  waiting: Waiting,
  runner: string,
  response: ServerResponse,
): Promise<Lease | 'drained' | undefined> {
  for (;;) {
    const seen = waiting.wakes
    const lease = await nextLease(deps, runner)
    if (typeof lease === 'object') giveBackUnsent(deps, lease, response, () => wake(waiting))
    if (lease !== undefined || waiting.wakes === seen || response.destroyed) return lease
  }
}

/** A lease whose response is not sent to its end would cost an attempt, and the time until it is lost. */
function giveBackUnsent(deps: Deps, lease: Lease, response: ServerResponse, wake: () => void): void {
  const giveUnsentBack = async () => {
    if (response.writableFinished) return
    await transactQueue(deps, (ctx) => giveBack(ctx, lease))
    wake()
  }
  const onClose = () => {
    giveUnsentBack().catch((error) =>
      deps.log.warn({ err: error }, 'a lease that no runner received was not released and expires later'),
    )
  }
  if (response.destroyed) onClose()
  else response.once('close', onClose)
}

/** The runner logs the sentence, and asks again. */
function turnAway(state: 'removed' | 'full'): EdgeResponse {
  if (state === 'full') return fault(503, 'busy', 'This Berth has 500 runners. Stop some, and this one gets builds.')
  return fault(403, 'forbidden', 'The operator removed this runner. Start it again to use it (docs/runner.md).')
}

function none(isOver: boolean): EdgeResponse {
  const answer = { status: 204, headers: { 'cache-control': 'no-store' } as Record<string, string>, body: '' }
  // A waiting runner would call again on its connection, which would then never close.
  if (isOver) answer.headers.connection = 'close'
  return answer
}

/** Undefined: no build may start now. `drained`: one may, and this runner gets none. */
async function nextLease(deps: Deps, runner: string): Promise<Lease | 'drained' | undefined> {
  const found = await deps.db.read
    .selectFrom('build')
    .select('deployment_id')
    .where(sql<boolean>`state = 'waiting'`)
    .limit(1)
    .executeTakeFirst()
  if (found === undefined) return undefined
  if (!(await takesBuilds(deps.db.read, runner))) return 'drained'
  const acquired = await transactQueue(deps, async (ctx) => {
    if (!(await takesBuilds(ctx.db, runner))) return 'drained' as const
    const found = await acquireBuild(ctx, runner, deps.config.builds)
    if (found !== undefined) await recordVariableRead(ctx, found.build)
    return found
  })
  if (acquired === undefined || acquired === 'drained') return acquired
  const { build, token } = acquired
  const holder: Holder = { deploymentId: build.deployment_id, attempt: Number(build.attempt), token }
  if (holder.attempt > 1) await appendOwnLines(deps, build, holder, [againLine(holder.attempt)])
  const lease = await leaseOf(deps, build, holder)
  if (lease !== undefined) return lease
  await transactQueue(deps, (ctx) => failBuild(ctx, holder, { code: 'RUNNER_FAILED', message: NOT_OPENED }))
  return undefined
}

function againLine(attempt: number): string {
  return `The runner of this build was lost. The build starts again (attempt ${attempt} of 3).`
}

const NOT_OPENED =
  'A variable of this build cannot be decrypted: the keyring of this Berth lacks its key. Ask the operator (docs/variables.md).'

async function leaseOf({ db, ...deps }: Deps, build: Row<'build'>, holder: Holder): Promise<Lease | undefined> {
  const ctx = { db: db.read, deps: { db, ...deps } }
  const project = await ctx.db.selectFrom('project').selectAll().where('id', '=', build.project_id).executeTakeFirst()
  const deployment = await ctx.db
    .selectFrom('deployment')
    .selectAll()
    .where('id', '=', build.deployment_id)
    .executeTakeFirst()
  if (project === undefined || deployment === undefined) return undefined
  const variables = await environmentOfBuild(ctx, project, deployment)
  if (variables === undefined) return undefined
  return {
    ...holder,
    timeLimitMs: LEASE_TIMES.buildMs,
    project: { id: project.id, name: project.name, accountId: project.account_id },
    settings: JSON.parse(build.settings_json) as BuildSettings,
    target: deployment.target,
    environment: deployment.custom_environment_id === null ? null : environmentName(project, deployment),
    branch: deployment.git_branch,
    ...variables,
  }
}

/** Returns the answer to a runner where no token is set. */
export function refuseRunners(): EdgeResponse {
  return fault(403, 'forbidden', 'Set BERTH_RUNNER_TOKEN on the control plane to allow runners.')
}
