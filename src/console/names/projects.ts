/** Names of the projects to which something is limited. docs/console.md: Page layout. */
import { type Html, html } from '../../platform/pages/html.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import type { UserPageCtx } from '../../platform/pages/screen.ts'
import { canInAccount, projectPath } from '../frame.ts'

/** Reads the names of projects of accounts. Returns a function that renders ids as links; projects that are gone or not for the user stay ids. */
export async function readProjectLinks(
  { db }: UserPageCtx,
  accounts: readonly OwnAccount[],
  ids: readonly string[] = [],
): Promise<(some: readonly string[]) => Html> {
  const open = new Map(
    accounts
      .filter((one) => one.lacks_factor === 0 && canInAccount(one, 'project:read'))
      .map((account) => [account.id, account]),
  )
  const rows =
    ids.length === 0 || open.size === 0
      ? []
      : await db
          .selectFrom('project')
          .select(['id', 'name', 'account_id'])
          .where('id', 'in', [...new Set(ids)])
          .where('account_id', 'in', [...open.keys()])
          .execute()
  const links = new Map(
    rows.map(({ id, name, account_id }) => [
      id,
      html`<a href="${projectPath(open.get(account_id)!, name)}" title="${id}">${name}</a>`,
    ]),
  )
  return (some) => html`${some.map((id, at) => html`${at > 0 && ', '}${links.get(id) ?? html`<code>${id}</code>`}`)}`
}
