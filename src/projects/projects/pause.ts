/** Pause and unpause. Specification: States and transitions, Project pause; operations 6 and 7. */

import type { Ctx } from '../../context.ts'
import { changeProject, withSettings } from '../../model/project.ts'
import type { Row } from '../../platform/db/schema.ts'
import { actorId } from '../env/access.ts'
import { readProjectReply } from './projects.ts'
import type { Project } from './schema.ts'

/** Pauses a project, and stops new production deployments from getting its domains. Repeating it changes nothing. */
export async function pauseProject(ctx: Ctx, project: Row<'project'>): Promise<Project> {
  if (project.paused_at !== null) return readProjectReply(ctx, project)
  const settings_json = withSettings(project, { autoAssignCustomDomains: false, pausedBy: actorId(ctx) })
  return readProjectReply(ctx, await changeProject(ctx, project, { paused_at: ctx.now, settings_json }))
}

/** Resumes a project, including automatic domains. Repeating it changes nothing. */
export async function unpauseProject(ctx: Ctx, project: Row<'project'>): Promise<Project> {
  if (project.paused_at === null) return readProjectReply(ctx, project)
  const settings_json = withSettings(project, { autoAssignCustomDomains: true })
  return readProjectReply(
    ctx,
    await changeProject(ctx, project, { paused_at: null, resumed_at: ctx.now, settings_json }),
  )
}
