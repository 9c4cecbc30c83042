/** A form of a project acts on the project that its page showed: another one may have the name by then. docs/console.md: Forms. */
import { SHOWN_PROJECT_FIELD } from '../../platform/pages/form.ts'
import { type Html, html, markupOf } from '../../platform/pages/html.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import type { ScreenInput, UserPageCtx } from '../../platform/pages/screen.ts'
import { permissionsOf } from '../../platform/permissions/scopes.ts'
import { refuse } from '../../platform/refusals/refusal.ts'

/** Text in markup is escaped, so a match is always an element. */
const FORM = /<form\b[^>]*\bmethod="post"[^>]*>/g

/** Adds the id of the project to the forms of its page. `project`: its name, or its id. */
export async function withShownProject(
  ctx: UserPageCtx,
  account: OwnAccount,
  project: string,
  { markup }: Html,
): Promise<Html> {
  const id = markup.search(FORM) < 0 ? undefined : await findProjectId(ctx, account, project)
  if (id === undefined) return markupOf(markup)
  const field = html`<input type="hidden" name="${SHOWN_PROJECT_FIELD}" value="${id}">`.markup
  return markupOf(markup.replaceAll(FORM, (form) => form + field))
}

/** Checks that no other project has the name of the one that the page showed. Refuses: not_found 404. */
export async function mustBeShown(
  ctx: UserPageCtx,
  account: OwnAccount,
  { params: { name }, shownProject }: Pick<ScreenInput, 'params' | 'shownProject'>,
): Promise<void> {
  if (name === undefined || shownProject === undefined) return
  const id = await findProjectId(ctx, account, name)
  // The route answers for a project that is gone.
  if (id === undefined || id === shownProject) return
  const way = 'Open the project from the list again.'
  refuse('not_found', `Nothing was changed: another project has the name ${name} now. ${way}`)
}

/** Finds the id of a project by its name or its id, as the routes of its pages do. Undefined too for a role that sees no projects. */
export async function findProjectId(
  { db }: UserPageCtx,
  { id, role }: OwnAccount,
  name: string,
): Promise<string | undefined> {
  if (!permissionsOf(role, null).has('project:read')) return undefined
  const project = db
    .selectFrom('project')
    .select('id')
    .where('account_id', '=', id)
    .where((query) => query.or([query('name', '=', name), query('id', '=', name)]))
  return (await project.executeTakeFirst())?.id
}
