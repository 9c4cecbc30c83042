/** TABLE what happens later: name, period, sweep. A sweep reads moments in the tables, is safe to run twice and on several instances at once. */
import { forgetExpiredTokens } from './accounts/tokens.ts'
import { STAMPS_PER_MS } from './clock.ts'
import type { Deps, OperatorCtx } from './context.ts'
import { advanceAliasRequests, MAPPING_SLICE } from './deployments/mapping.ts'
import { forgetEdgeChanges } from './edge/changes.ts'
import { forgetDeletedHistory } from './env/history-log.ts'
import { REWRAP_SLICE, rewrapProjectKeys } from './env/rotation.ts'
import { type Outgoing, outgoingOf, writeEvents } from './outbox.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const EVENTS_KEPT_MS = 30 * 24 * HOUR_MS
/** A sweep works in slices, so that no transaction is long. */
const SLICE = 1000

export const TIMERS = {
  'expired-tokens': { periodMs: HOUR_MS, sweep: forgetExpiredTokens },
  'old-events': { periodMs: HOUR_MS, sweep: forgetOldEvents },
  'edge-changes': { periodMs: HOUR_MS, sweep: forgetEdgeChanges },
  'deleted-variables': { periodMs: HOUR_MS, sweep: forgetDeletedHistory },
  'rewrap-project-keys': { periodMs: MINUTE_MS, sweep: rewrapProjectKeys, slice: REWRAP_SLICE },
  'alias-requests': { periodMs: 2000, sweep: advanceAliasRequests, slice: MAPPING_SLICE },
} as const satisfies Record<string, Timer>

/** `slice`: what a sweep deals with at most at a time; one that dealt with as much is run again at once. */
type Timer = { periodMs: number; sweep: (ctx: OperatorCtx, limit: number) => Promise<number>; slice?: number }

export type TimerName = keyof typeof TIMERS

/** Events are kept for 30 days. */
async function forgetOldEvents(ctx: OperatorCtx, limit: number): Promise<number> {
  const old = ctx.db
    .selectFrom('event')
    .select('stamp')
    .where('stamp', '<', (ctx.now - EVENTS_KEPT_MS) * STAMPS_PER_MS)
    .limit(limit)
  const gone = await ctx.db.deleteFrom('event').where('stamp', 'in', old).returning('stamp').execute()
  return gone.length
}

/** Runs one sweep to its end, as of `now`. Gives the number of rows it dealt with. */
export async function runTimer(deps: Deps, name: TimerName, now: number): Promise<number> {
  const { sweep, slice = SLICE }: Timer = TIMERS[name]
  let swept = 0
  for (;;) {
    const count = await deps.db.write(async (db) => {
      const outgoing: Outgoing[] = []
      const emit: OperatorCtx['emit'] = (...said) => void outgoing.push(outgoingOf(...said))
      const actor = { kind: 'timer', id: name, tokenId: null } as const
      const dealt = await sweep({ actor, db, now, stamp: deps.clock.stamp(), deps, emit }, slice)
      await writeEvents({ db, deps }, outgoing)
      return dealt
    })
    swept += count
    if (count < slice) return swept
  }
}

export type Timers = {
  /** Stops the loop and waits for a sweep that is under way. */
  stop(): Promise<void>
  /** Makes a timer due at once. */
  wake(name: string): void
}

/** Starts the loop. */
export function startTimers(deps: Deps): Timers {
  const due = new Map<string, number>()
  let running = Promise.resolve()
  const run = () => {
    running = running.then(() => runDue(deps, due))
  }
  const tick = setInterval(run, 1000)
  return {
    wake(name) {
      due.delete(name)
      run()
    },
    async stop() {
      clearInterval(tick)
      await running
    },
  }
}

async function runDue(deps: Deps, due: Map<string, number>): Promise<void> {
  const now = deps.clock.now()
  for (const name of Object.keys(TIMERS) as TimerName[]) {
    if ((due.get(name) ?? 0) > now) continue
    due.set(name, now + TIMERS[name].periodMs)
    try {
      await runTimer(deps, name, now)
    } catch (error) {
      deps.log.error({ err: error, timer: name }, 'a sweep failed; it runs again in its next period')
    }
  }
}
