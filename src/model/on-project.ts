/** What a feature does when a project is shown, removed or moved. The rows are joined in src/on-project.ts. */
import type { Ctx, EventAbout, EventOwner, OperatorCtx } from '../context.ts'
import type { Row } from '../db/schema.ts'

export type OnProject = {
  /** What the feature adds to the answer of a project. */
  show?(ctx: Ctx, project: Row<'project'>): Promise<object>
  /** The same for each project of a page, by the id of the project. */
  showPage?(ctx: Ctx, projects: readonly Row<'project'>[]): Promise<ReadonlyMap<string, object>>
  /** Removes what the feature keeps of a project, before the row of the project goes. It may add to `about`: who hears that the project is gone. */
  remove?(ctx: Ctx, project: Row<'project'>, about: EventAbout): Promise<void>
  /** Takes away what stays behind, before the project moves. Endpoints of this project alone still hear its events. */
  leave?(ctx: OperatorCtx, project: Row<'project'>, from: EventOwner): Promise<void>
  /** Takes the project out of what the account that it leaves has of it. */
  forget?(ctx: OperatorCtx, project: Row<'project'>, from: EventOwner): Promise<void>
  /** Takes what moves along to the new account. `project`: its row as it was before. */
  move?(ctx: OperatorCtx, project: Row<'project'>, to: EventOwner): Promise<void>
}
