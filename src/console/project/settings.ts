/** The settings of a project: its name, how it is built, who may see its deployments, its data cache, and deleting it. */
import type { Static } from 'typebox'
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
import { action, field, formErrorNotice } from '../action.ts'
import { dangerCard } from '../controls.ts'
import { editFields } from '../edit-form.ts'
import { type Choice, checkboxField, fieldRow, select } from '../fields.ts'
import { accountPath, canInAccount, consolePage, findAccountOfPath, projectPath } from '../frame.ts'
import type { Refused } from '../refused.ts'

const SETTINGS = '/console/t/:slug/projects/:name/settings'
const SHOWN = ['getProject']

/** TABLE the lines of text among the settings, and what people are told of them. */
const LINES = {
  buildCommand: ['Build command', undefined],
  installCommand: ['Install command', undefined],
  devCommand: ['Development command', undefined],
  commandForIgnoringBuildStep: ['Command that decides whether to build', 'If it ends with 0, the build is skipped.'],
  outputDirectory: ['Output directory', undefined],
  rootDirectory: ['Root directory', 'Where the project is in its repository. Empty: at the top.'],
} as const
type Line = keyof typeof LINES
const LINE_NAMES = Object.keys(LINES) as Line[]

/** TABLE what a protection covers. */
const COVERS: readonly Choice[] = [
  ['', 'nothing: everybody sees all deployments'],
  ['preview', 'previews'],
  ['prod_deployment_urls_and_all_previews', 'previews, and the own addresses of production deployments'],
  ['all_except_custom_domains', 'all but the domains of the project'],
  ['all', 'all'],
]

/** The route says what is wrong with a field, so that what was typed comes back. */
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
    asks: 'updateProject',
    shows: SHOWN,
    wish: ({ params, form }) => ({ params: { idOrName: params.name! }, body: asBody(form) }),
    changes: [],
    to: ({ name }, { params }) => settingsPath(params, name),
    again: showSettings,
  }),
  action({
    path: `${SETTINGS}/protection`,
    name: 'consoleProtectProject',
    form: Protection,
    asks: 'updateProject',
    shows: SHOWN,
    wish: ({ params, form: { passwordFor, password, signInFor } }) => ({
      params: { idOrName: params.name! },
      body: {
        passwordProtection: passwordFor ? { deploymentType: passwordFor, password } : null,
        ssoProtection: signInFor ? { deploymentType: signInFor } : null,
      },
    }),
    changes: [],
    to: (_, { params }) => settingsPath(params, params.name!),
    again: showSettings,
  }),
  action<typeof DataCache, Project>({
    path: `${SETTINGS}/data-cache`,
    name: 'consoleSwitchDataCache',
    form: DataCache,
    asks: 'updateProjectDataCache',
    shows: SHOWN,
    wish: ({ params, form }) => ({
      params: { projectId: params.name! },
      body: { disabled: form.disabled === 'yes' },
    }),
    to: ({ name }, { params }) => settingsPath(params, name),
    again: showSettings,
  }),
  action({
    path: `${SETTINGS}/delete`,
    name: 'consoleDeleteProject',
    form: Deletion,
    asks: 'deleteProject',
    shows: SHOWN,
    wish: ({ params, form }) => {
      if (form.typed !== params.name)
        refuse('bad_request', `Nothing was deleted: \`typed\` should be the name of the project, "${params.name}".`)
      return { params: { idOrName: params.name! } }
    },
    to: (_, { params }) => accountPath({ slug: params.slug! }),
    again: showSettings,
  }),
]

function settingsPath({ slug }: ScreenInput['params'], project: string): string {
  return projectPath({ slug: slug! }, project, 'settings')
}

/** What the form says, as the route takes it: an empty line clears a setting. */
function asBody(form: Static<typeof General>) {
  return {
    name: form.name?.trim(),
    framework: form.framework || null,
    nodeVersion: form.nodeVersion,
    autoAssignCustomDomains: form.autoAssignCustomDomains !== undefined,
    ...Object.fromEntries(LINE_NAMES.map((name) => [name, form[name] || null])),
  }
}

async function showSettings(ctx: ConsoleCtx, { params }: ScreenInput, refused?: Refused) {
  const account = await findAccountOfPath(ctx, params)
  const project = await ctx.ask<Project>('getProject', { account, params: { idOrName: params.name! } })
  const path = projectPath(account, project.name, 'settings')
  return consolePage(
    ctx,
    { account, project: project.name, tab: 'settings' },
    {
      title: 'Settings',
      body: html`<div class="top"><h1>Settings</h1></div>
${formErrorNotice(refused)}
${canInAccount(account, 'project:write') ? html`${general(ctx, path, project, isOf(refused, 'name'))}${protection(ctx, path, project, isOf(refused, 'passwordFor'))}${dataCache(ctx, path, project)}` : facts(project)}
<section class="stack card"><h2>Custom environments</h2>
<p>Environments of this project beside production, preview and development.</p>
<p class="actions"><a class="button quiet" href="${path}/environments">Show them</a></p></section>
${canInAccount(account, 'project:transfer') && giving(account, project)}
${canInAccount(account, 'project:delete') && deleting(ctx, account, project, refused)}`,
    },
  )
}

function general(ctx: ConsoleCtx, path: string, project: Project, refused: Refused | undefined): Html {
  const frameworks: Choice[] = [['', 'none'], ...FRAMEWORKS.map((one): Choice => [one, one])]
  const versions = NODE_VERSIONS.map((one): Choice => [one, one])
  return html`<form class="stack card" method="post" action="${path}"><h2>General</h2>
${editFields(
  ctx,
  refused,
  (
    refused,
  ) => html`${field('name', 'Name', { value: project.name, required: true, refused, hint: 'A new name changes the addresses of this project in the console and in the API.', attributes: html` autocomplete="off" autocapitalize="none" spellcheck="false"` })}
${fieldRow(select('framework', 'Framework', frameworks, { value: project.framework ?? '', refused }), select('nodeVersion', 'Node.js', versions, { value: project.nodeVersion, refused }))}
${fieldRow(...LINE_NAMES.map((name) => line(name, project, refused)))}
${checkboxField('autoAssignCustomDomains', 'A new production deployment takes over the domains', project.autoAssignCustomDomains, refused)}`,
)}
<p class="actions"><button>Save</button></p>
</form>`
}

function line(name: Line, project: Project, refused: Refused | undefined): Html {
  const [label, hint] = LINES[name]
  const attributes = html` autocomplete="off" autocapitalize="none" spellcheck="false"`
  return field(name, label, { value: project[name] ?? '', refused, attributes, ...(hint && { hint }) })
}

/** A refusal, where it is of the form that sends this field: the other form of the page is as it was. */
function isOf(refused: Refused | undefined, name: string): Refused | undefined {
  return refused !== undefined && name in refused.typed ? refused : undefined
}

function protection(ctx: ConsoleCtx, path: string, project: Project, refused: Refused | undefined): Html {
  return html`<form class="stack card" method="post" action="${path}/protection"><h2>Who sees deployments</h2>
${editFields(
  ctx,
  refused,
  (
    refused,
  ) => html`${select('passwordFor', 'A password protects', COVERS, { value: project.passwordProtection?.deploymentType ?? '', refused })}
${field('password', 'Password', { type: 'password', hint: project.passwordProtection ? 'Leave it empty to keep the password as it is.' : 'Up to 72 characters.', attributes: html` autocomplete="new-password"` })}
${select('signInFor', 'Only members of the account see', COVERS, { value: project.ssoProtection?.deploymentType ?? '', refused })}`,
)}
<p class="actions"><button>Save</button></p>
</form>`
}

function dataCache(ctx: ConsoleCtx, path: string, { dataCache: { userDisabled } }: Project): Html {
  return html`<form class="stack card" method="post" action="${path}/data-cache"><h2>Data cache</h2>
${csrfFields(ctx)}
<p>It is <strong>${userDisabled ? 'off' : 'on'}</strong>.</p>
<input type="hidden" name="disabled" value="${userDisabled ? 'no' : 'yes'}">
<p class="actions"><button class="quiet">${userDisabled ? 'Switch it on' : 'Switch it off'}</button></p>
</form>`
}

/** The settings for those who may not change them. */
function facts(project: Project): Html {
  return html`<section class="card"><h2>General</h2><p class="soft">Your role reads settings and does not change them.</p>
<dl class="facts"><dt>Name</dt><dd>${project.name}</dd><dt>Framework</dt><dd>${project.framework ?? 'none'}</dd><dt>Node.js</dt><dd>${project.nodeVersion}</dd>
${LINE_NAMES.map((name) => html`<dt>${LINES[name][0]}</dt><dd>${project[name] ?? 'none'}</dd>`)}
<dt>Data cache</dt><dd>${project.dataCache.userDisabled ? 'off' : 'on'}</dd></dl></section>`
}

function giving(account: OwnAccount, project: Project): Html {
  return html`<section class="stack card"><h2>Transfer it to another account</h2>
<p>A member of the other account receives it with a code. Variables, domains and deployments go along.</p>
<p class="actions"><a class="button quiet" href="${projectPath(account, project.name, 'transfer')}">Transfer it</a></p></section>`
}

function deleting(ctx: ConsoleCtx, account: OwnAccount, project: Project, refused: Refused | undefined): Html {
  return dangerCard(
    'Delete the project',
    html`The variables, domains, deployments and history of <strong>${project.name}</strong> go with it. There is no way back.`,
    html`<form method="post" action="${projectPath(account, project.name, 'settings/delete')}">${csrfFields(ctx)}
${field('typed', `Type ${project.name} to confirm`, { refused, attributes: html` autocomplete="off" autocapitalize="none" spellcheck="false"` })}
<p class="actions"><button class="danger">Delete the project</button></p>
</form>`,
  )
}
