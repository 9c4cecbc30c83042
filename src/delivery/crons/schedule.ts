/** Schedules of cron jobs: five fields of numbers, in UTC. docs/functions.md: Cron jobs. */
import { Cron } from 'croner'

/** No names of days and months, and no `L`, `W`, `#` or `?`: what upstream takes. */
const FIELDS = /^[\d*,/-]{1,100}(?: [\d*,/-]{1,100}){4}$/

/** Returns what is wrong with a schedule; undefined for a good one. */
export function scheduleError(schedule: string): string | undefined {
  if (!FIELDS.test(schedule)) return 'must have the five fields of cron, of numbers: minute, hour, day, month, weekday.'
  const [, , day, , weekday] = schedule.split(' ')
  if (day !== '*' && weekday !== '*') return 'may name a day of the month or a day of the week, and "*" for the other.'
  try {
    return open(schedule).nextRun() === null ? 'names a date that never comes.' : undefined
  } catch (error) {
    return `is not a schedule: ${(error as Error).message.replace(/^CronPattern: /, '')}`
  }
}

/** Returns the next `count` times after `now`. */
export function nextTimes(schedule: string, now: number, count: number): number[] {
  return open(schedule)
    .nextRuns(count, new Date(now))
    .map((time) => time.getTime())
}

function open(schedule: string): Cron {
  return new Cron(schedule, { timezone: 'UTC', paused: true, mode: '5-part' })
}
