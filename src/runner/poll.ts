/** Requests builds and runs them. docs/runner.md: Stop. */
import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { LeaseRequest } from '../delivery/protocol/runner-protocol.ts'
import { pause } from '../platform/base/clock.ts'
import { randomText } from '../platform/base/ids.ts'
import { VERSION } from '../platform/base/version.ts'
import type { BuildTools } from './build/build.ts'
import { runBuild } from './build/run-build.ts'
import type { ControlPlane } from './lease/control-plane.ts'

export type PollOptions = {
  controlPlane: ControlPlane
  tools: BuildTools
  /** Builds at once. */
  builds: number
  log: Logger
  /** Aborts: take no more builds. Running ones end as they would. */
  draining: AbortSignal
  /** Aborts: end running builds without a report, so they go back to the queue. */
  ending: AbortSignal
}

const MIN_PAUSE_MS = 500
const MAX_PAUSE_MS = 15_000
/** After a wrong token, which the operator corrects. */
const REFUSED_MS = 15_000
/** A control plane that does not wait is asked at most this often. */
const IDLE_MS = 1000

/** Returns the delay before the next request for a build. `failures`: in a row. `random`: from 0 to 1. Pure. */
export function pollPauseMs(
  { outcome, tookMs, failures }: { outcome: 'idle' | 'retry' | 'fatal'; tookMs: number; failures: number },
  random: number,
): number {
  if (outcome === 'idle') return Math.max(0, IDLE_MS - tookMs)
  if (outcome === 'fatal') return REFUSED_MS
  const max = Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** Math.min(failures, 10))
  return MIN_PAUSE_MS + random * (max - MIN_PAUSE_MS)
}

/** Requests builds until `draining` aborts. Resolves when every build has ended. */
export async function pollForBuilds(options: PollOptions): Promise<void> {
  const request: LeaseRequest = { runner: randomText(16), hostname: hostname().slice(0, 253), version: VERSION }
  await Promise.all(Array.from({ length: options.builds }, () => runLane(options, request)))
}

/** One build at a time. */
async function runLane(options: PollOptions, request: LeaseRequest): Promise<void> {
  const { controlPlane, draining, log } = options
  for (let failures = 0; !draining.aborted; ) {
    const leasedAt = performance.now()
    const answer = await controlPlane.lease(request, draining)
    if (answer.outcome === 'done' && answer.value !== undefined) {
      failures = 0
      await runOne(options, leasedAt, answer.value)
      continue
    }
    if (draining.aborted) return
    const outcome = answer.outcome === 'done' || answer.outcome === 'lease_lost' ? 'idle' : answer.outcome
    if ('because' in answer && failures++ === 0) log.warn(answer.because)
    if (outcome === 'idle') failures = 0
    const pauseMs = pollPauseMs({ outcome, tookMs: performance.now() - leasedAt, failures }, Math.random())
    await pause(pauseMs, draining)
  }
}

type Leased = Parameters<typeof runBuild>[0]['lease']

async function runOne(options: PollOptions, leasedAt: number, lease: Leased): Promise<void> {
  const { controlPlane, tools, log, ending } = options
  const { deploymentId: deployment, attempt } = lease
  log.info({ deployment, attempt }, 'building')
  const began = performance.now()
  const channel = controlPlane.below(lease)
  const outcome = await runBuild({ lease, leasedAt, channel }, tools, ending).catch((error) => {
    log.error({ err: error, deployment }, 'a build ended without a report')
    return 'lost'
  })
  const seconds = Math.round((performance.now() - began) / 1000)
  log.info({ deployment, attempt, outcome, seconds }, 'ended a build')
}
