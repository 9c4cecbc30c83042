import type { Static } from 'typebox'
import { readCacheSize } from '../../delivery/data-cache/sizes.ts'
import { FRAMEWORKS } from '../../model/setting-schemas.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../platform/pages/screen.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { NODE_VERSIONS } from '../../platform/settings/types.ts'
import type { Project } from '../../projects/projects/schema.ts'
import { action, field, formErrorNotice, PLAIN_TEXT } from '../action.ts'
import { cardTitle, dangerCard } from '../controls.ts'
import { editFields } from '../edit-form.ts'
import { type Choice, checkboxField, fieldRow, select } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { accountPath, canInAccount, findAccountOfPath, projectPage, projectPath } from '../frame.ts'
import { cacheSize, dataCacheForm, purgeCard } from './settings/data-cache.ts'
import { repositoryLine } from './settings/git-link.ts'

const SETTINGS = '/console/t/:slug/projects/:name/settings'
const SHOWN = ['getProject']

/** TABLE Text settings: label and hint. */
const LINES = {
  buildCommand: ['Build command', undefined],
  installCommand: ['Install command', undefined],
  devCommand: ['Development command', undefined],
  commandForIgnoringBuildStep: ['Ignored build step', 'The build is skipped if this command exits with 0.'],
  outputDirectory: ['Output directory', undefined],
  rootDirectory: ['Root directory', 'Directory of the project in its repository. Leave empty for the repository root.'],
} as const
type Line = keyof typeof LINES
const LINE_NAMES = Object.keys(LINES) as Line[]

/** TABLE Scope of a deployment protection. */
const COVERS: readonly Choice[] = [
  ['', 'Off'],
  ['preview', 'Previews'],
  ['prod_deployment_urls_and_all_previews', 'Previews and production deployment URLs'],
  ['all_except_custom_domains', 'All except custom domains'],
  ['all', 'All'],
]

/** The route validates, so the form keeps the submitted values. */
const Text = Type.Optional(Type.String())
const General = Type.Object({
  name: Text,
  framework: Text,
  nodeVersion: Text,
  autoAssignCustomDomains: Text,
  ...(Object.fromEntries(LINE_NAMES.map((name) => [name, Text])) as Record<Line, typeof Text>),
})
const Protection = Type.Object({ passwordFor: Text, password: Text, signInFor: Text })
const DataCache = Type.Object({ disabled: Text })
const Deletion = Type.Object({ typed: Text })

export const settingsScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: SETTINGS,
    name: 'showProjectSettings',
    calls: SHOWN,
    run: (ctx, input) => showSettings(ctx, input),
  }),
  action<typeof General, Project>({
    path: SETTINGS,
    name: 'consoleUpdateProject',
    form: General,
    calls: 'updateProject',
    renderCalls: SHOWN,
    request: ({ params, form }) => ({ params: { idOrName: params.name! }, body: asBody(form) }),
    changes: [],
    next: ({ name }, { params }) => settingsPath(params, name),
    renderErrors: showSettings,
  }),
  action({
    path: `${SETTINGS}/protection`,
    name: 'consoleProtectProject',
    form: Protection,
    calls: 'updateProject',
    renderCalls: SHOWN,
    request: ({ params, form: { passwordFor, password, signInFor } }) => ({
      params: { idOrName: params.name! },
      body: {
        passwordProtection: passwordFor ? { deploymentType: passwordFor, password } : null,
        ssoProtection: signInFor ? { deploymentType: signInFor } : null,
      },
    }),
    changes: [],
    next: (_, { params }) => settingsPath(params, params.name!),
    renderErrors: showSettings,
  }),
  action<typeof DataCache, Project>({
    path: `${SETTINGS}/data-cache`,
    name: 'consoleSwitchDataCache',
    form: DataCache,
    calls: 'updateProjectDataCache',
    renderCalls: SHOWN,
    request: ({ params, form }) => ({
      params: { projectId: params.name! },
      body: { disabled: form.disabled === 'yes' },
    }),
    next: ({ name }, { params }) => settingsPath(params, name),
    renderErrors: showSettings,
  }),
  action({
    path: `${SETTINGS}/purge`,
    name: 'consolePurgeCaches',
    calls: 'purgeDataCache',
    renderCalls: SHOWN,
    request: ({ params }) => ({ query: { projectIdOrName: params.name! } }),
    next: (_, { params }) => settingsPath(params, params.name!),
    renderErrors: showSettings,
  }),
  action({
    path: `${SETTINGS}/delete`,
    name: 'consoleDeleteProject',
    form: Deletion,
    calls: 'deleteProject',
    renderCalls: SHOWN,
    request: ({ params, form, shownProject }) => {
      if (form.typed !== params.name)
        refuse('bad_request', `Nothing was deleted: \`typed\` must be the project name, "${params.name}".`)
      return { params: { idOrName: shownProject || params.name! } }
    },
    next: (_, { params }) => accountPath({ slug: params.slug! }),
    renderErrors: showSettings,
  }),
]

function settingsPath({ slug }: ScreenInput['params'], project: string): string {
  return projectPath({ slug: slug! }, project, 'settings')
}

/** An empty text field clears the setting. */
function asBody(form: Static<typeof General>) {
  return {
    name: form.name?.trim(),
    framework: form.framework || null,
    nodeVersion: form.nodeVersion,
    autoAssignCustomDomains: form.autoAssignCustomDomains !== undefined,
    ...Object.fromEntries(LINE_NAMES.map((name) => [name, form[name] || null])),
  }
}

async function showSettings(ctx: ConsoleCtx, { params }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const project = await ctx.callRoute<Project>('getProject', { account, params: { idOrName: params.name! } })
  const path = projectPath(account, project.name, 'settings')
  const size = await readCacheSize(ctx.db, project.id, ctx.now)
  return projectPage(ctx, account, project.name, 'settings', {
    title: 'Settings',
    body: html`<div class="head"><h1>Settings</h1></div>
${formErrorNotice(error)}
${canInAccount(account, 'project:write') ? html`${general(ctx, path, project, isOf(error, 'name'))}${protection(ctx, path, project, isOf(error, 'passwordFor'))}${dataCacheForm(ctx, path, project, size)}${purgeCard(ctx, path)}` : facts(project, cacheSize(size, ctx.now))}
${more(path, 'environments', 'Custom environments', 'Environments in addition to production, preview and development.', 'Manage environments')}
${canInAccount(account, 'project:write') && more(path, 'bypass', 'Bypass secrets', 'Let tests and other automation pass the protection of deployments.', 'Manage secrets')}
${more(path, 'git', 'Git repository', repositoryLine(project), 'Manage repository')}
${more(path, 'retention', 'Deployment retention', 'How long previews, production, canceled and failed deployments are kept.', 'Manage retention')}
${canInAccount(account, 'project:transfer') && giving(account, project)}
${canInAccount(account, 'project:delete') && deleting(ctx, account, project, error)}`,
  })
}

function general(ctx: ConsoleCtx, path: string, project: Project, error: FormError | undefined): Html {
  const frameworks: Choice[] = [['', 'None'], ...FRAMEWORKS.map((framework): Choice => [framework, framework])]
  const versions = NODE_VERSIONS.map((version): Choice => [version, version])
  return html`<form class="card in stack form" method="post" action="${path}">${cardTitle('General', 'What the project is called, and how it is built. Empty commands are those of the framework.')}
${editFields(
  ctx,
  error,
  (
    error,
  ) => html`${field('name', 'Name', { value: project.name, required: true, error, hint: 'A new name changes the URLs of this project in the console and in the API.', attributes: PLAIN_TEXT })}
${fieldRow(select('framework', 'Framework', frameworks, { value: project.framework ?? '', error }), select('nodeVersion', 'Node.js', versions, { value: project.nodeVersion, error }))}
${fieldRow(...LINE_NAMES.map((name) => line(name, project, error)))}
${checkboxField('autoAssignCustomDomains', 'Promote new production deployments automatically', project.autoAssignCustomDomains, error)}`,
)}
<p class="line"><button class="btn primary">Save</button></p>
</form>`
}

function line(name: Line, project: Project, error: FormError | undefined): Html {
  const [label, hint] = LINES[name]
  return field(name, label, { value: project[name] ?? '', error, attributes: PLAIN_TEXT, hint })
}

/** Returns the error if it belongs to the form with this field. */
function isOf(error: FormError | undefined, name: string): FormError | undefined {
  return error !== undefined && name in error.typed ? error : undefined
}

function protection(ctx: ConsoleCtx, path: string, project: Project, error: FormError | undefined): Html {
  return html`<form class="card in stack form" method="post" action="${path}/protection">${cardTitle('Deployment protection', 'Who can open deployments.')}
${editFields(
  ctx,
  error,
  (
    error,
  ) => html`${select('passwordFor', 'Password protection', COVERS, { value: project.passwordProtection?.deploymentType ?? '', error })}
${field('password', 'Password', { type: 'password', hint: project.passwordProtection ? 'Leave empty to keep the current password.' : 'Up to 72 characters.', attributes: html` autocomplete="new-password"` })}
${select('signInFor', 'Members only', COVERS, { value: project.ssoProtection?.deploymentType ?? '', error })}`,
)}
<p class="line"><button class="btn primary">Save</button></p>
</form>`
}

/** Renders the way to a page of settings. */
function more(path: string, page: string, title: string, about: string, words: string): Html {
  return html`<section class="card in stack form">${cardTitle(title, about)}
<p class="line"><a class="btn" href="${path}/${page}">${words}</a></p></section>`
}

/** Read-only view. */
function facts(project: Project, size: Html): Html {
  return html`<section class="card in stack">${cardTitle('General', 'Your role cannot change settings.')}
<dl class="facts"><dt>Name</dt><dd>${project.name}</dd><dt>Framework</dt><dd>${project.framework ?? 'None'}</dd><dt>Node.js</dt><dd>${project.nodeVersion}</dd>
${LINE_NAMES.map((name) => html`<dt>${LINES[name][0]}</dt><dd>${project[name] ?? 'None'}</dd>`)}
<dt>Data cache</dt><dd>${project.dataCache.userDisabled ? 'Disabled' : 'Enabled'}<br><span class="soft small">${size}</span></dd></dl></section>`
}

function giving(account: OwnAccount, project: Project): Html {
  return html`<section class="card in stack form">${cardTitle('Transfer project', 'A member of the other account accepts it with a code. Variables, domains and deployments move with it.')}
<p class="line"><a class="btn" href="${projectPath(account, project.name, 'transfer')}">Transfer project</a></p></section>`
}

function deleting(ctx: ConsoleCtx, account: OwnAccount, project: Project, error: FormError | undefined): Html {
  return dangerCard(
    'Delete project',
    html`Deletes <strong>${project.name}</strong> with its variables, domains, deployments and history. You cannot undo this.`,
    html`<form method="post" action="${projectPath(account, project.name, 'settings/delete')}">${csrfFields(ctx)}
${field('typed', `Type ${project.name} to confirm`, { error, attributes: PLAIN_TEXT })}
<p class="line"><button class="btn danger">Delete project</button></p>
</form>`,
  )
}
