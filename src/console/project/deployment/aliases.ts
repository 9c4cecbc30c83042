/** The domains that point to a deployment, on its page. docs/deployments.md: Assign an alias. */
import { type Html, html } from '../../../platform/pages/html.ts'
import type { OwnAccount } from '../../../platform/pages/own-accounts.ts'
import type { ConsoleCtx } from '../../../platform/pages/screen.ts'
import type { Alias } from '../../../projects/aliases/schema.ts'
import type { Deployment } from '../../../projects/deployments/schema.ts'
import type { Project } from '../../../projects/projects/schema.ts'
import { confirmedButton } from '../../controls.ts'
import { dataTable } from '../../fields.ts'
import { canInAccount, deploymentPath } from '../../frame.ts'
import { isInTransfer } from '../list.ts'
import { siteAddress } from './details.ts'

/** Renders the domains of a deployment, with what assigns and unassigns one for roles that may. */
export function aliasesCard(
  ctx: ConsoleCtx,
  account: OwnAccount,
  project: Project,
  deployment: Deployment,
  aliases: readonly Alias[],
): Html {
  const path = deploymentPath(account, project.name, deployment.id, 'aliases')
  const may = canInAccount(account, 'project:write', 'deployment:write')
  const writes = may && !isInTransfer(project)
  const assigns = writes && canInAccount(account, 'domain:write') && deployment.readyState === 'READY'
  const row = ({ alias }: Alias) => {
    const unassign = confirmedButton(ctx, `${path}/${encodeURIComponent(alias)}/remove`, 'Unassign', {
      label: `Unassign ${alias}`,
      look: 'small',
      asks: `Visitors of ${alias} get 404 until a deployment or a promote takes it. It stays on the project.`,
    })
    return html`<tr><td><a href="${siteAddress(ctx, alias)}" rel="noreferrer">${alias}</a></td>${writes && html`<td class="act">${unassign}</td>`}</tr>`
  }
  return html`<section class="card in stack"><h2>Domains</h2>
${aliases.length > 0 ? dataTable('Domains', ['Domain', writes && 'Actions'], aliases.map(row)) : html`<p class="soft">Only its own URL.</p>`}
${assigns && html`<p class="line"><a class="btn" href="${path}">Assign domain…</a></p>`}</section>`
}
