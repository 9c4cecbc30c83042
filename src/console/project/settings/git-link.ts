/** The git repository of a project: link, production branch, unlink. docs/git-links.md. */
import { type Html, html } from '../../../platform/pages/html.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../../platform/pages/screen.ts'
import { Type } from '../../../platform/schema/builder.ts'
import type { Project } from '../../../projects/projects/schema.ts'
import { action, field, formErrorNotice, PLAIN_TEXT } from '../../action.ts'
import { cardTitle, confirmedButton, dangerCard } from '../../controls.ts'
import { select } from '../../fields.ts'
import type { FormError } from '../../form-error.ts'
import { canInAccount, findAccountOfPath, projectPage, projectPath } from '../../frame.ts'
import { relativeTime } from '../../time.ts'

const PATH = '/console/t/:slug/projects/:name/settings/git'
const TITLE = 'Git repository'
const SHOWN = ['getProject']
/** The route validates, so the form keeps the submitted values. */
const Text = Type.Optional(Type.String())
const Repository = Type.Object({ type: Text, repo: Text })
const Branch = Type.Object({ branch: Text })
type Link = NonNullable<Project['link']>

/** TABLE Git hosts. */
const HOSTS: Record<Link['type'], string> = { github: 'GitHub', gitlab: 'GitLab', bitbucket: 'Bitbucket' }

export const gitLinkScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: PATH,
    name: 'showGitLink',
    calls: SHOWN,
    run: (ctx, input) => showGitLink(ctx, input),
  }),
  action({
    path: PATH,
    name: 'consoleLinkProject',
    form: Repository,
    calls: 'linkProject',
    renderCalls: SHOWN,
    request: ({ params, form: { type, repo } }) => ({
      params: { idOrName: params.name! },
      body: { type, repo: repo?.trim() },
    }),
    next: toPage,
    renderErrors: showGitLink,
  }),
  action({
    path: `${PATH}/branch`,
    name: 'consoleSetProductionBranch',
    form: Branch,
    calls: 'updateProjectBranch',
    renderCalls: SHOWN,
    request: ({ params, form }) => ({ params: { idOrName: params.name! }, body: { branch: form.branch?.trim() } }),
    next: toPage,
    renderErrors: showGitLink,
  }),
  action({
    path: `${PATH}/unlink`,
    name: 'consoleUnlinkProject',
    calls: 'unlinkProject',
    renderCalls: SHOWN,
    request: ({ params }) => ({ params: { idOrName: params.name! } }),
    next: toPage,
    renderErrors: showGitLink,
  }),
]

function toPage(_: unknown, { params }: Pick<ScreenInput, 'params'>): string {
  return projectPath({ slug: params.slug! }, params.name!, 'settings/git')
}

/** Returns the repository of a project in a sentence. */
export function repositoryLine({ link }: Pick<Project, 'link'>): string {
  return link === undefined ? 'Not linked to a repository.' : `${repositoryOf(link)} on ${HOSTS[link.type]}.`
}

/** Returns the repository as its host calls it. */
function repositoryOf({ type, org, repo, projectNameWithNamespace, owner, slug }: Link): string {
  return { github: `${org}/${repo}`, gitlab: projectNameWithNamespace ?? '', bitbucket: `${owner}/${slug}` }[type]
}

async function showGitLink(ctx: ConsoleCtx, { params }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const { name, link } = await ctx.callRoute<Project>('getProject', { account, params: { idOrName: params.name! } })
  const path = projectPath(account, name, 'settings/git')
  const writes = canInAccount(account, 'project:write')
  // Also where the project was linked since the form was shown.
  const links = link === undefined || (error !== undefined && 'repo' in error.typed)
  return projectPage(ctx, account, name, 'settings', {
    title: TITLE,
    body: html`<div class="head"><h1>${TITLE}</h1></div>
${formErrorNotice(error)}
${link ? facts(link, ctx.now) : html`<p class="card empty">Not linked to a repository.</p>`}
${writes && links && linkForm(ctx, path, error)}
${writes && link && branchForm(ctx, path, link, error)}
${
  writes &&
  link &&
  dangerCard(
    'Unlink repository',
    html`<strong>${name}</strong> keeps its deployments, domains and variables.${link.type !== 'github' && html` Its webhook at ${HOSTS[link.type]} is removed.`}`,
    confirmedButton(ctx, `${path}/unlink`, 'Unlink repository'),
  )
}`,
  })
}

function facts(link: Link, now: number): Html {
  return html`<section class="card in stack"><h2>${HOSTS[link.type]}</h2><dl class="facts">
<dt>Repository</dt><dd>${repositoryOf(link)}</dd>
<dt>Production branch</dt><dd><code>${link.productionBranch}</code></dd>
<dt>Linked</dt><dd>${relativeTime(link.createdAt, now)}</dd></dl></section>`
}

function linkForm(ctx: ConsoleCtx, path: string, error: FormError | undefined): Html {
  return html`<form class="card in stack form" method="post" action="${path}">${cardTitle('Link a repository', 'Pushes to it become deployments by your build system.')}
${csrfFields(ctx)}
${select('type', 'Host', Object.entries(HOSTS), { error, hint: 'GitLab and Bitbucket need a credential, which an operator sets for the account.' })}
${field('repo', 'Repository', { required: true, error, hint: 'Owner and name, such as acme/web.', attributes: PLAIN_TEXT })}
<p class="line"><button class="btn primary">Link repository</button></p>
</form>`
}

function branchForm(ctx: ConsoleCtx, path: string, { productionBranch }: Link, error: FormError | undefined): Html {
  return html`<form class="card in stack form" method="post" action="${path}/branch">${cardTitle('Production branch', 'Its deployments are of production.')}
${csrfFields(ctx)}
${field('branch', 'Branch', { value: productionBranch, required: true, error, attributes: PLAIN_TEXT })}
<p class="line"><button class="btn">Save branch</button></p>
</form>`
}
