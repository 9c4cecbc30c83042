/** Cron jobs on the page of their project: when they run next, and how they ended. docs/console.md: Project pages. */
import type { Static } from 'typebox'
import type { CronJobs } from '../../../delivery/crons/list.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import type { OwnAccount } from '../../../platform/pages/own-accounts.ts'
import type { ConsoleCtx } from '../../../platform/pages/screen.ts'
import type { Project } from '../../../projects/projects/schema.ts'
import { dataTable } from '../../fields.ts'
import { relativeTime } from '../../time.ts'

const SHOWN_RUNS = 10

/** Renders the section. Undefined for a project without cron jobs and runs. */
export async function cronJobs(ctx: ConsoleCtx, account: OwnAccount, { id }: Project): Promise<Html | undefined> {
  const { crons, runs, enabled } = await ctx.callRoute<Static<typeof CronJobs>>('listProjectCrons', {
    account,
    params: { idOrName: id },
  })
  if (crons.length === 0 && runs.length === 0) return undefined
  const jobs = crons.map(
    ({ path, schedule, nextTimes }) =>
      html`<tr><td><code>${path}</code></td><td><code>${schedule}</code></td><td>${nextTimes.length === 0 ? 'Off' : nextTimes.map((time) => html`${utc(time)}<br>`)}</td></tr>`,
  )
  const ended = runs
    .slice(0, SHOWN_RUNS)
    .map(
      (run) =>
        html`<tr><td><code>${run.path}</code></td><td>${relativeTime(run.dueAt, ctx.now)}</td><td>${run.fault ?? run.status ?? (run.endedAt === null ? 'Running, or lost' : '')}</td></tr>`,
    )
  return html`<h2>Cron jobs</h2>
${!enabled && html`<p class="soft">They do not run: the project is paused, or its cron jobs are off.</p>`}
${dataTable('Cron jobs', ['Path', 'Schedule (UTC)', 'Next times (UTC)'], jobs, { none: 'The production deployment has none.' })}
${ended.length > 0 && dataTable('Last runs', ['Path', 'Time', 'Result'], ended)}`
}

function utc(time: number): string {
  return new Date(time).toISOString().slice(0, 16).replace('T', ' ')
}
