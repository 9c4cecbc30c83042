/** Consent, on the page or by the operator: installs the integration and issues a code. docs/sign-in-and-consent.md. */
import type { Static } from 'typebox'
import type { Input, OperatorCtx } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { AccountName } from '../../platform/schema/fields.ts'
import { type InstallationRequest, installIntegration } from '../installations/install.ts'
import { issueCode } from '../oauth/codes.ts'

type Consent = InstallationRequest & {
  /** PKCE challenge (S256), if the integration sent one. */
  challenge: string | null
}

/** Installs the integration and issues the code for its token. Refuses as `installIntegration` does. */
export async function grantConsent(
  ctx: Pick<OperatorCtx, 'db' | 'deps' | 'now' | 'stamp' | 'emit'>,
  { challenge, ...consent }: Consent,
): Promise<{ installationId: string; code: string }> {
  const installationId = await installIntegration(ctx, consent)
  const { integration, userId } = consent
  return { installationId, code: await issueCode(ctx, integration, { installationId, userId, challenge }) }
}

const ProjectId = Type.String({ minLength: 1, maxLength: 64 })

/** `projects`: "all", or the ids of some. */
export const NewInstallation = Type.Object({
  userId: AccountName,
  teamId: Type.Optional(AccountName),
  projects: Type.Union([Type.Literal('all'), Type.Array(ProjectId, { minItems: 1, maxItems: 1000 })]),
})

/**
 * Consents for a user on a team or on their personal account, without a browser. Refuses as `grantConsent`, and: unknown_user 400, unknown_team 400,
 * user_suspended 409 (a suspended user cannot own an installation).
 */
export async function grantConsentForUser(
  ctx: OperatorCtx,
  integration: Row<'integration'>,
  { body: { userId, teamId, projects } }: Input<unknown, Static<typeof NewInstallation>>,
) {
  const user = await ctx.db
    .selectFrom('account')
    .select(['kind', 'suspended_at'])
    .where('id', '=', userId)
    .executeTakeFirst()
  if (user?.kind !== 'user') refuse('unknown_user', `User "${userId}" not found.`)
  if (user.suspended_at !== null) refuse('user_suspended')
  const id = teamId ?? userId
  const account = await ctx.db.selectFrom('account').select(['id', 'kind']).where('id', '=', id).executeTakeFirst()
  if (account === undefined || (teamId !== undefined && account.kind !== 'team')) {
    refuse('unknown_team', `Team "${id}" not found.`)
  }
  const consent = { integration, userId, account, projects, challenge: null }
  const { installationId, code } = await grantConsent(ctx, consent)
  return { configurationId: installationId, code }
}
