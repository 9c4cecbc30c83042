import { operatorRoute } from '../../platform/http/route.ts'
import { Type } from '../../platform/schema/builder.ts'
import { findIntegration } from '../integrations/integrations.ts'
import { grantConsentForUser, NewInstallation } from './grant-consent.ts'

export const consentRoutes = [
  operatorRoute({
    method: 'POST',
    path: '/operator/v1/integrations/:id/installations',
    operationId: 'operatorInstallIntegration',
    summary: 'Install an integration in the name of a user: consent without a browser',
    tag: 'operator',
    body: NewInstallation,
    load: findIntegration,
    run: grantConsentForUser,
    emits: ['integration-configuration.scope-change-confirmed'],
    refuses: ['budget_used_up', 'not_found', 'unknown_user', 'user_suspended', 'unknown_team', 'missing_permission'],
    status: 201,
    reply: Type.Object({ configurationId: Type.String(), code: Type.String({ description: 'shown this once' }) }),
    noStore: true,
  }),
]
