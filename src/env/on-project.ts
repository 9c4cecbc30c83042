import type { OnProject } from '../model/on-project.ts'
import { deleteProjectEnv, envOfProject, envOfProjects, removeEnvOfIntegrations } from './project-env.ts'

export const envOnProject: OnProject = {
  show: async (ctx, { id }) => ({ env: await envOfProject(ctx, id) }),
  async showPage(ctx, projects) {
    const env = await envOfProjects(
      ctx,
      projects.map(({ id }) => id),
    )
    return new Map([...env].map(([id, variables]) => [id, { env: variables }]))
  },
  remove: (ctx, { id }) => deleteProjectEnv(ctx, id),
  leave: (ctx, project, from) => removeEnvOfIntegrations(ctx, from, project),
}
