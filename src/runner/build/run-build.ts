/** Runs one build from its lease to its report. docs/runner.md: Steps. */
import { setTimeout as sleep } from 'node:timers/promises'
import { BUILD_ERRORS, type Finish, type Lease } from '../../delivery/protocol/runner-protocol.ts'
import { createMasks } from '../../platform/secrets/masks.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import type { LeaseChannel } from '../lease/control-plane.ts'
import { keepLease } from '../lease/keep-lease.ts'
import { createLeaseClock } from '../lease/lease.ts'
import { createLogBuffer } from '../log/log-buffer.ts'
import { startLogUpload } from '../log/log-upload.ts'
import type { Build, BuildTools } from './build.ts'
import { saveCache } from './cached.ts'
import { BuildFailure } from './failure.ts'
import { entriesOf } from './output.ts'
import { LeaseLost, retried } from './output-upload.ts'
import { STEPS, type Step } from './steps.ts'
import { BadSource } from './workspace.ts'

/** Why a build was ended from outside. `stopping`: the process ends, so the build goes back to the queue when its lease ends. */
type End = { kind: 'canceled' | 'lease_lost' | 'timed_out' | 'stopping' } | { kind: 'step_timed_out'; step: Step }

class Ended extends Error {
  readonly end: End
  constructor(end: End) {
    super(end.kind)
    this.end = end
  }
}

/** `lost`: nothing was reported, because the lease is lost or the process ends. */
export type BuildOutcome = Finish['outcome'] | 'lost'

const LOG_MS = 20_000
/** How long an ended step may take to notice that. */
const SETTLE_MS = 5000
const TOO_LONG_FOR_TIMER = 2 ** 31 - 1

/**
 * Runs a build. It reports exactly once, unless the lease is lost or `ending` aborts, and always destroys the sandbox. `leasedAt`: when the lease was
 * requested, on the monotonic clock.
 */
export async function runBuild(
  { lease, leasedAt, channel }: { lease: Lease; leasedAt: number; channel: LeaseChannel },
  tools: BuildTools,
  ending: AbortSignal,
): Promise<BuildOutcome> {
  const stop = new AbortController()
  const unreportable = new AbortController()
  let isReporting = false
  const end = (outcome: End) => {
    // The lease ends with the report, so a beat may be refused before the answer to the report is there.
    if (isReporting && outcome.kind === 'lease_lost') return
    if (outcome.kind === 'lease_lost' || outcome.kind === 'stopping') unreportable.abort(new Ended(outcome))
    stop.abort(new Ended(outcome))
  }
  const onEnding = () => end({ kind: 'stopping' })
  ending.addEventListener('abort', onEnding, { once: true })
  if (ending.aborted) onEnding()
  const late = setTimeout(() => end({ kind: 'timed_out' }), Math.min(lease.timeLimitMs, TOO_LONG_FOR_TIMER))
  const build = openBuild(lease, channel, tools)
  const events = { onCancel: () => end({ kind: 'canceled' }), onLost: () => end({ kind: 'lease_lost' }) }
  const steps = { step: () => build.reported, stepChange: () => build.stepChange.signal }
  const done = new AbortController()
  const beats = keepLease(
    channel,
    createLeaseClock(leasedAt),
    { ...events, ...steps, onAcknowledge: build.log.acknowledge },
    done.signal,
  )
  const upload = startLogUpload(channel, build.log, events)
  try {
    const report = await reportOf(build, stop.signal)
    clearTimeout(late)
    if (report === undefined) return 'lost'
    await upload.finish(LOG_MS)
    isReporting = true
    const outcome = await send(build, report, unreportable.signal)
    // The deployment does not wait for the cache: it is saved when the deployment is there.
    done.abort()
    if (outcome === 'succeeded') await saveCache(build, ending)
    return outcome
  } finally {
    clearTimeout(late)
    ending.removeEventListener('abort', onEnding)
    done.abort()
    await Promise.all([beats, upload.stop(), destroy(build.sandbox, tools)])
  }
}

function openBuild(lease: Lease, channel: LeaseChannel, tools: BuildTools): Build {
  const masks = createMasks(lease.masked.flatMap((key) => lease.env[key] ?? []))
  return {
    lease,
    channel,
    tools,
    sandbox: tools.createSandbox(),
    log: createLogBuffer(masks),
    reported: 'preparing',
    stepChange: new AbortController(),
    insideWork: '',
    workspace: undefined,
    node: 24,
    units: new Map(),
    managers: [],
    output: undefined,
    ignoredStep: undefined,
    isIgnored: false,
  }
}

async function destroy(sandbox: Sandbox, { log }: BuildTools): Promise<void> {
  await sandbox.destroy().catch((error) => log.error({ err: error }, 'cannot remove the directory of a build'))
}

/** Walks the steps. Returns the report; undefined: nothing may be reported. */
async function reportOf(build: Build, signal: AbortSignal): Promise<Finish | undefined> {
  for (const step of STEPS) {
    try {
      await runStep(step, build, signal)
    } catch (error) {
      return failureReport(error, step, build)
    }
    if (build.isIgnored)
      return canceled(
        build,
        `The build was skipped: the ignored build step ended with exit code 0: ${build.ignoredStep}`,
      )
  }
  return { outcome: 'succeeded', builder: build.tools.builder, entries: entriesOf(build.output!) }
}

function reportStep(build: Build, { reported }: Step): void {
  if (build.reported === reported) return
  const { stepChange } = build
  Object.assign(build, { reported, stepChange: new AbortController() })
  stepChange.abort()
}

/** Runs a step until it ends, takes too long, or the build must end, which destroys the sandbox at once. Throws the reason of the end. */
async function runStep(step: Step, build: Build, buildEnds: AbortSignal): Promise<void> {
  const { sandbox, tools } = build
  buildEnds.throwIfAborted()
  reportStep(build, step)
  const ended = Promise.withResolvers<never>()
  const tooLong = new AbortController()
  const { limitMs } = step
  const late = limitMs && setTimeout(() => tooLong.abort(new Ended({ kind: 'step_timed_out', step })), limitMs)
  const signal = AbortSignal.any([buildEnds, tooLong.signal])
  const onAbort = () => ended.reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  const running = step.run(build, signal)
  try {
    await Promise.race([running, ended.promise])
  } catch (error) {
    const destroyed = destroy(sandbox, tools)
    // What it does meanwhile fails, because its directory goes.
    await Promise.race([Promise.allSettled([running, destroyed]), sleep(SETTLE_MS)])
    throw error
  } finally {
    clearTimeout(late)
    signal.removeEventListener('abort', onAbort)
  }
}

function canceled({ log }: Build, reason: string): Finish {
  const text = log.redact(reason)
  log.line('stderr', text)
  return { outcome: 'canceled', reason: text.slice(0, 2000) }
}

function failureReport(error: unknown, step: Step, build: Build): Finish | undefined {
  if (error instanceof LeaseLost) return undefined
  if (error instanceof Ended) return endReport(error.end, build)
  const failure = failureOf(error, step, build)
  const { code } = failure
  const fault = BUILD_ERRORS[code]
  build.tools.log[fault === 'runner' ? 'warn' : 'info'](
    { deployment: build.lease.deploymentId, code, fault },
    'a build failed',
  )
  // It may name files and links of the build, whose names the build chose.
  const message = build.log.redact(failure.message)
  build.log.line('fatal', message)
  return { outcome: 'failed', code, message: message.slice(0, 2000) || code }
}

function endReport(end: End, build: Build): Finish | undefined {
  if (end.kind === 'canceled') return canceled(build, 'The build was canceled.')
  if (end.kind === 'lease_lost' || end.kind === 'stopping') return undefined
  const step = end.kind === 'step_timed_out' ? end.step : undefined
  const minutes = Math.max(1, Math.round((step?.limitMs ?? build.lease.timeLimitMs) / 60_000))
  const what = step === undefined ? 'The build' : `The step "${step.name}" of the build`
  const message = `${what} took longer than ${minutes} ${minutes === 1 ? 'minute' : 'minutes'} and was ended.`
  build.log.line('fatal', message)
  return { outcome: 'failed', code: step?.code ?? 'BUILD_TIMED_OUT', message }
}

/** An unexpected error goes to the log of the runner: its message may name places of the machine. */
function failureOf(error: unknown, { name, code }: Step, { tools, lease }: Build): BuildFailure {
  if (error instanceof BuildFailure) return error
  if (error instanceof BadSource) return new BuildFailure(error.code, error.message)
  tools.log.error({ err: error, deployment: lease.deploymentId, step: name }, 'a build failed in the runner')
  const { code: cause = 'unexpected error' } = error as NodeJS.ErrnoException
  return new BuildFailure(code, `The runner failed in the step "${name}" (${cause}). Its own log has the reason.`)
}

/** A report that is refused would leave the build to the end of its lease, and to another attempt that fails in the same way: the refusal is reported. */
async function send(build: Build, report: Finish, signal: AbortSignal, isRefusal = false): Promise<BuildOutcome> {
  const { channel, tools, lease, log } = build
  try {
    await retried(() => channel.finish(report, signal), signal)
    return report.outcome
  } catch (error) {
    if (error instanceof LeaseLost || error instanceof Ended) return 'lost'
    if (!(error instanceof BuildFailure)) throw error
    tools.log.error({ err: error, deployment: lease.deploymentId }, 'the control plane refused the report of a build')
    if (isRefusal) return 'lost'
    const message = log.redact(error.message).slice(0, 2000)
    log.line('fatal', message)
    await startLogUpload(channel, log, NO_EVENTS).finish(LOG_MS)
    return send(build, { outcome: 'failed', code: error.code, message }, signal, true)
  }
}

/** The answer to the report says what a log batch would. */
const NO_EVENTS = { onCancel: () => {}, onLost: () => {} }
