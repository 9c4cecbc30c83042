/** The cron job switch of a project, which the runs of jobs and external schedulers follow. docs/projects.md: Cron jobs. */
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { changeProject } from '../../model/project.ts'
import type { Row } from '../../platform/db/schema.ts'
import { readProjectReply } from './projects.ts'
import type { Crons, PatchCrons, Project } from './schema.ts'

type State = Pick<Static<typeof Crons>, 'enabledAt' | 'disabledAt' | 'updatedAt'>

/** Enables or disables the cron jobs. Repeating it changes nothing. */
export async function updateCrons(
  ctx: Ctx,
  project: Row<'project'>,
  { body }: Input<unknown, Static<typeof PatchCrons>>,
): Promise<Project> {
  const before: State | undefined = project.crons_json === null ? undefined : JSON.parse(project.crons_json)
  if (before !== undefined && (before.disabledAt === null) === body.enabled) return readProjectReply(ctx, project)
  const state: State = {
    enabledAt: body.enabled ? ctx.now : (before?.enabledAt ?? project.created_at),
    disabledAt: body.enabled ? null : ctx.now,
    updatedAt: ctx.now,
  }
  return readProjectReply(ctx, await changeProject(ctx, project, { crons_json: JSON.stringify(state) }))
}
