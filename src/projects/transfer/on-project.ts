/** An offer ends with its project. */
import type { OnProject } from '../../context.ts'

export const transferOnProject: OnProject = {
  async remove(ctx, { id }) {
    await ctx.db.deleteFrom('transfer_request').where('project_id', '=', id).execute()
  },
}
