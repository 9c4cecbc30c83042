/** The consent page, where a user chooses account and projects and approves the requested scopes. docs/sign-in-and-consent.md. */
import type { Static } from 'typebox'
import { readInstallationOn } from '../../model/installation.ts'
import type { Row } from '../../platform/db/schema.ts'
import { accountContext, accountsOf, findOwnAccount, type OwnAccount } from '../../platform/pages/own-accounts.ts'
import { type Screen, type ScreenInput, type UserPageCtx, userScreen, type View } from '../../platform/pages/screen.ts'
import { scopesOf } from '../../platform/permissions/scopes.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { readSelection } from '../installations/selection.ts'
import { readIntegration } from '../integrations/integrations.ts'
import { ConsentQuery, mustBeValidRequest, redirectTo } from '../oauth/authorization-request.ts'
import { accountStep, projectStep } from './consent-page.ts'
import { grantConsent } from './grant-consent.ts'
import { MAX_SELECTABLE_PROJECTS, type ProjectSelection, readChosenProjects, readProjectChoices } from './projects.ts'

const Decision = Type.Object({
  decision: Type.Enum(['approve', 'cancel', 'find']),
  selection: Type.Optional(Type.Enum(['all', 'selected'])),
  project: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: MAX_SELECTABLE_PROJECTS })),
  find: Type.Optional(Type.String({ maxLength: 100 })),
  /** The scopes that the page listed. Only these can be approved. */
  scope: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 30 })),
  redirect: Type.Optional(Type.String({ maxLength: 2000 })),
})
type DecisionInput = ScreenInput<ConsentQuery, Static<typeof Decision>>

export const consentScreens: readonly Screen[] = [
  userScreen({
    method: 'GET',
    path: '/integrations/:slug/new',
    name: 'showConsent',
    query: ConsentQuery,
    run: showConsent,
    refuses: ['owner_only'],
  }),
  userScreen({
    method: 'POST',
    path: '/integrations/:slug/new',
    name: 'consent',
    query: ConsentQuery,
    form: Decision,
    run: decide,
    emits: ['integration-configuration.scope-change-confirmed'],
    refuses: ['owner_only', 'missing_permission', 'budget_used_up'],
  }),
]

async function showConsent(ctx: UserPageCtx, input: ScreenInput<ConsentQuery>): Promise<View> {
  const integration = await findRequesting(ctx, input)
  const accounts = await accountsOf(ctx)
  const possible = accounts.filter((account) => account.role === 'OWNER')
  const { query } = input
  if (query.account === undefined && possible.length > 1) return accountStep(ctx, integration, query, accounts)
  const account = await findOwned(ctx, query.account ?? ctx.user.userId)
  const chosen = await chosenBefore(ctx, integration, account)
  return projectStep(ctx, integration, query, account, await readProjectChoices(ctx, account, chosen), chosen)
}

async function decide(ctx: UserPageCtx, input: DecisionInput): Promise<View> {
  const { query, form } = input
  const integration = await findRequesting(ctx, input)
  const iss = ctx.deps.origin()
  if (form.decision === 'cancel') {
    return { redirectTo: redirectTo(integration, { error: 'access_denied', state: query.state, iss }) }
  }
  const account = await findOwned(ctx, query.account ?? ctx.user.userId)
  const chosen: ProjectSelection = {
    selection: form.selection,
    projectIds: [...new Set(form.project ?? [])],
    find: form.find ?? '',
    renews: (await chosenBefore(ctx, integration, account)).renews,
  }
  const fault = form.decision === 'approve' ? await faultIn(ctx, integration, account, chosen, form) : undefined
  if (form.decision === 'find' || fault !== undefined) {
    const projects = await readProjectChoices(ctx, account, chosen)
    return projectStep(ctx, integration, query, account, projects, { ...chosen, fault })
  }
  const by = accountContext(ctx, account)
  const { installationId, code } = await grantConsent(by, {
    integration,
    userId: ctx.user.userId,
    account,
    projects: chosen.selection === 'all' ? 'all' : chosen.projectIds,
    challenge: query.code_challenge ?? null,
  })
  const teamId = account.kind === 'team' ? account.id : undefined
  const { state, next } = query
  return {
    redirectTo: redirectTo(integration, {
      code,
      teamId,
      configurationId: installationId,
      next,
      source: 'external',
      state,
      iss,
    }),
    audit: { by, subjectId: installationId },
  }
}

/** Finds the integration of a valid request. Refuses: not_found 404, bad_request 400. */
async function findRequesting(
  ctx: UserPageCtx,
  { params, query }: ScreenInput<ConsentQuery>,
): Promise<Row<'integration'>> {
  const integration = await readIntegration(ctx.db, { slug: params.slug! })
  if (integration === undefined) refuse('not_found', 'Integration not found.')
  mustBeValidRequest(integration, query)
  return integration
}

/** Finds an account on which the user can install. Refuses: not_found 404, owner_only 403. */
async function findOwned(ctx: UserPageCtx, accountId: string): Promise<OwnAccount> {
  const account = await findOwnAccount(ctx, accountId)
  if (account.role !== 'OWNER') refuse('owner_only', 'Only an OWNER of the team can install integrations on it.')
  return account
}

/** The current selection of the installation; empty when not installed. */
async function chosenBefore(
  ctx: UserPageCtx,
  integration: Row<'integration'>,
  account: OwnAccount,
): Promise<ProjectSelection> {
  const before = await readInstallationOn(ctx.db, integration.id, account.id)
  if (before === undefined) return { selection: undefined, projectIds: [], find: '', renews: false }
  const projectIds = await readSelection(ctx.db, before.id, MAX_SELECTABLE_PROJECTS)
  return { selection: before.project_selection, projectIds, find: '', renews: true }
}

/** Returns a message with the reason and the remedy when this cannot be approved. */
async function faultIn(
  ctx: UserPageCtx,
  integration: Row<'integration'>,
  account: OwnAccount,
  { selection, projectIds }: ProjectSelection,
  { scope: shownScopes = [], redirect = integration.redirect_url }: Static<typeof Decision>,
): Promise<string | undefined> {
  if (scopesOf(integration).sort().join() !== [...shownScopes].sort().join() || redirect !== integration.redirect_url) {
    return 'The access that the integration requests has changed since you opened this page. Read it again before you approve.'
  }
  if (selection === undefined) return 'Choose whether it may use all projects or some.'
  if (selection === 'all') {
    return projectIds.length > 0 ? 'You chose all projects and also ticked some. Choose one of the two.' : undefined
  }
  if (projectIds.length === 0) return 'Tick at least one project, or choose all projects.'
  const there = await readChosenProjects(ctx, account, projectIds)
  return there.length < projectIds.length
    ? 'A project that you ticked no longer exists. Check the projects again.'
    : undefined
}
