/** Cron jobs on the page of their project: when they run next, and how they ended. docs/console.md: Project pages. */
import type { Static } from 'typebox'
import type { CronJobs } from '../../../delivery/crons/list.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import type { OwnAccount } from '../../../platform/pages/own-accounts.ts'
import type { ConsoleCtx } from '../../../platform/pages/screen.ts'
import type { Project } from '../../../projects/projects/schema.ts'
import { button } from '../../controls.ts'
import { dataTable } from '../../fields.ts'
import { canInAccount, projectPath } from '../../frame.ts'
import { relativeTime } from '../../time.ts'

const SHOWN_RUNS = 10

/** Renders the section. Undefined for a project without cron jobs and runs that has them on. */
export async function cronJobs(ctx: ConsoleCtx, account: OwnAccount, project: Project): Promise<Html | undefined> {
  const { id, paused } = project
  const isOff = Boolean(project.crons?.disabledAt)
  const { crons, runs, enabled } = await ctx.callRoute<Static<typeof CronJobs>>('listProjectCrons', {
    account,
    params: { idOrName: id },
  })
  if (crons.length === 0 && runs.length === 0 && !isOff) return undefined
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
  return html`<div class="head"><h2>Cron jobs</h2>${canInAccount(account, 'project:write') && cronSwitch(ctx, account, project, isOff)}</div>
${!enabled && html`<p class="soft">They do not run: ${[paused && 'the project is paused', isOff && 'they are turned off'].filter(Boolean).join(', and ')}.</p>`}
${dataTable('Cron jobs', ['Path', 'Schedule (UTC)', 'Next times (UTC)'], jobs, { none: 'The production deployment has none.' })}
${ended.length > 0 && dataTable('Last runs', ['Path', 'Time', 'Result'], ended)}`
}

function cronSwitch(ctx: ConsoleCtx, account: OwnAccount, { name }: Project, isOff: boolean): Html {
  const words = isOff ? 'Turn on cron jobs' : 'Turn off cron jobs'
  return button(ctx, projectPath(account, name, 'crons'), words, { fields: { enabled: String(isOff) } })
}

function utc(time: number): string {
  return new Date(time).toISOString().slice(0, 16).replace('T', ' ')
}
