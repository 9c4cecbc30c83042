import type { ProjectHooks } from '../../context.ts'

export const transferOnProject: ProjectHooks = {
  async remove(ctx, { id }) {
    await ctx.db.deleteFrom('transfer_request').where('project_id', '=', id).execute()
  },
}
