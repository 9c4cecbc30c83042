/** What a project without deployments says: how to deploy. docs/console.md: Page layout. */
import { type Html, html } from '../../../platform/pages/html.ts'
import type { OwnAccount } from '../../../platform/pages/own-accounts.ts'
import type { ConsoleCtx } from '../../../platform/pages/screen.ts'
import type { Project } from '../../../projects/projects/schema.ts'
import { linkCommand, shellCommand } from '../../controls.ts'
import { canInAccount, projectPath } from '../../frame.ts'

/** Renders the commands of a first deployment, filled in. Where builds are off, the output is built first and uploaded. */
export function firstDeployment(ctx: ConsoleCtx, account: OwnAccount, { name }: Project): Html {
  const buildsHere = ctx.deps.config.builds.mode !== 'off'
  const writes = canInAccount(account, 'project:write')
  return html`<section class="card empty"><h2>No deployments yet</h2>
<p>Deploy from a terminal, in the folder of your site. ${!buildsHere && html`Builds are off on this server, so the site is built on your machine. `}</p>
<p class="soft small">The first command prints a line for your shell. Without it, <code>vercel</code> connects to the hosted platform.</p>
${linkCommand(account)}
${shellCommand(`vercel link --yes --project ${name}`)}
${
  buildsHere
    ? shellCommand('vercel deploy --prod')
    : html`${shellCommand('vercel build --prod --yes')}
${shellCommand('vercel deploy --prebuilt --prod')}`
}
${writes && html`<p class="soft small">To deploy each push, <a href="${projectPath(account, name, 'settings/git')}">link a repository</a>.</p>`}
${ctx.user.isOperator && html`<p class="soft small">For sites on other servers, a build system <a href="/docs/operatorCreateDeployment">registers deployments with the API</a>.</p>`}</section>`
}
