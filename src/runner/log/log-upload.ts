/** Sends the log of a build in batches, and resends what is not acknowledged. docs/runner.md: Log. */
import { pause } from '../../platform/base/clock.ts'
import type { LeaseChannel } from '../lease/control-plane.ts'
import { LOG_LIMITS, type LogBuffer } from './log-buffer.ts'

/** Lines wait this long for others. */
const EVERY_MS = 500
const LOOK_MS = 50
const MIN_PAUSE_MS = 500
const MAX_PAUSE_MS = 5000

export type LogEvents = { onCancel(): void; onLost(): void }

export type LogUpload = {
  /** Resolves when every line is acknowledged, or after `withinMs`, or when nothing more can be sent. Ends the upload. */
  finish(withinMs: number): Promise<void>
  /** Ends the upload at once. */
  stop(): Promise<void>
}

type State = { isFinishing: boolean; stop: AbortController }

/** Sends lines of the buffer until it is finished or stopped. */
export function startLogUpload(channel: Pick<LeaseChannel, 'log'>, buffer: LogBuffer, events: LogEvents): LogUpload {
  const state: State = { isFinishing: false, stop: new AbortController() }
  const running = run(channel, buffer, events, state)
  const stop = async () => {
    state.stop.abort()
    await running
  }
  return {
    stop,
    async finish(withinMs) {
      state.isFinishing = true
      const late = setTimeout(() => state.stop.abort(), withinMs)
      await running
      clearTimeout(late)
    },
  }
}

async function run(
  channel: Pick<LeaseChannel, 'log'>,
  buffer: LogBuffer,
  events: LogEvents,
  state: State,
): Promise<void> {
  const { signal } = state.stop
  let failures = 0
  while (!signal.aborted) {
    await untilDue(buffer, state)
    const batch = buffer.batch()
    if (batch === undefined && state.isFinishing) return
    if (batch === undefined || signal.aborted) continue
    const answer = await channel.log(batch, signal)
    if (signal.aborted) return
    if (answer.outcome === 'lease_lost') return events.onLost()
    // The build ends as it would: its result does not depend on a log that is refused.
    if (answer.outcome === 'fatal') return
    if ('because' in answer) {
      await pause(retryPauseMs(failures++), signal)
      continue
    }
    failures = 0
    buffer.acknowledge(answer.value.acknowledged)
    if (answer.value.cancel) events.onCancel()
  }
}

/** Waits until lines have waited for others, a batch is full, or the build has ended. */
async function untilDue(buffer: LogBuffer, state: State): Promise<void> {
  const due = performance.now() + EVERY_MS
  while (performance.now() < due && !state.isFinishing && !state.stop.signal.aborted) {
    if (buffer.waitingBytes() >= LOG_LIMITS.batchBytes) return
    await pause(LOOK_MS, state.stop.signal)
  }
}

/** Returns the delay after this many failed requests in a row. Pure. */
export function retryPauseMs(failures: number): number {
  return Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** Math.min(failures, 10))
}
