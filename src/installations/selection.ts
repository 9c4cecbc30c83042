/** The selection of projects of an installation, as projects come and go. docs/spec/decisions.md: Accounts, actors, permissions. */
import type { Ctx } from '../context.ts'

/** What an installation with a selection creates joins its selection; otherwise it could not see what it made. */
export async function joinSelection({ db, who }: Ctx, projectId: string): Promise<void> {
  if (who.installationId === null || who.projectIds === null) return
  const place = { configuration_id: who.installationId, project_id: projectId }
  await db.insertInto('configuration_project').values(place).execute()
}

/** A removed project is in no selection; gives the installations that had it. One that is left empty stays a selection, of nothing. */
export async function leaveSelections({ db }: Pick<Ctx, 'db'>, projectId: string): Promise<string[]> {
  const left = await db
    .deleteFrom('configuration_project')
    .where('project_id', '=', projectId)
    .returning('configuration_id')
    .execute()
  return left.map((row) => row.configuration_id)
}
