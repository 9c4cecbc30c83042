import type { Static } from 'typebox'
import type { Input, OperatorCtx } from '../../context.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, Timestamp } from '../../platform/schema/fields.ts'
import { runTimer, TIMERS, type TimerName } from '../../timers.ts'

export const RunTimer = Type.Object({ now: Type.Optional(Timestamp) })
export const TimerList = Type.Object({
  timers: Type.Array(
    Type.Object({
      name: Type.String(),
      periodMs: Nullable(Type.Integer({ description: 'null: it runs whenever there is work' })),
      lastRunAt: Nullable(Type.Integer({ description: 'on this instance, since it started' })),
      swept: Type.Integer({ description: 'rows that it dealt with on this instance, since it started' }),
      failures: Type.Integer({ description: 'runs that failed on this instance, since it started' }),
    }),
  ),
})

/** Lists the sweeps by name. Their results are counted per instance and not stored. */
export function listTimers({ deps: { metrics } }: OperatorCtx): Static<typeof TimerList> {
  return {
    timers: Object.entries(TIMERS).map(([name, timer]) => {
      const lastRun = metrics.gauge('berth_timer_last_run_timestamp_seconds', name).value
      return {
        name,
        periodMs: 'periodMs' in timer ? timer.periodMs : null,
        lastRunAt: lastRun > 0 ? Math.round(lastRun * 1000) : null,
        swept: metrics.counter('berth_timer_swept_total', name).value,
        failures: metrics.counter('berth_timer_failures_total', name).value,
      }
    }),
  }
}

/** Runs a sweep before this request's transaction, because it has its own. Refuses: not_found 404, test_clock_off 403. */
export async function runTimerNow(
  ctx: OperatorCtx,
  _: undefined,
  { params, body }: Input<unknown, Static<typeof RunTimer>>,
): Promise<number> {
  const name = params.name ?? ''
  if (!Object.hasOwn(TIMERS, name))
    refuse('not_found', `No timer "${name}"; there are ${Object.keys(TIMERS).join(', ')}.`)
  if (body.now !== undefined && !ctx.deps.config.testClock) refuse('test_clock_off')
  return runTimer(ctx.deps, name as TimerName, body.now ?? ctx.now)
}
