/** TABLE Routes. `npm run routes` prints them. */

import { accountRoutes } from './accounts/accounts/routes.ts'
import { invitationRoutes } from './accounts/members/invitation-routes.ts'
import { memberRoutes } from './accounts/members/routes.ts'
import { tokenRoutes } from './accounts/tokens/routes.ts'
import { userRoutes } from './accounts/users/routes.ts'
import { buildRoutes } from './delivery/builds/routes.ts'
import { cronRoutes } from './delivery/crons/list.ts'
import { deployRoutes } from './delivery/deploys/routes.ts'
import { logRoutes } from './delivery/logs/routes.ts'
import { runnerRoutes } from './delivery/runners/routes.ts'
import { uploadRoutes } from './delivery/uploads/routes.ts'
import { consentRoutes } from './integrations/consent/routes.ts'
import { deliveryRoutes } from './integrations/deliveries/routes.ts'
import { drainRoutes } from './integrations/drains/routes.ts'
import { installationRoutes } from './integrations/installations/routes.ts'
import { integrationRoutes } from './integrations/integrations/routes.ts'
import { oauthRoutes } from './integrations/oauth/routes.ts'
import { webhookRoutes } from './integrations/webhooks/routes.ts'
import { backupRoutes } from './operations/backup/routes.ts'
import { doctorRoutes } from './operations/doctor/routes.ts'
import { keyRoutes } from './operations/operator/keys.ts'
import { operatorRoutes } from './operations/operator/routes.ts'
import { setupRoutes } from './operations/operator/setup.ts'
import { reportRoutes } from './operations/report/routes.ts'
import type { Route } from './platform/http/route.ts'
import { accountDomainRoutes } from './projects/account-domains/routes.ts'
import { aliasRoutes } from './projects/aliases/routes.ts'
import { clientDeploymentRoutes } from './projects/deployments/client-routes.ts'
import { deploymentRoutes } from './projects/deployments/routes.ts'
import { domainRoutes } from './projects/domains/routes.ts'
import { emptyListRoutes } from './projects/empty-lists/routes.ts'
import { envRoutes } from './projects/env/routes.ts'
import { envFileRoutes } from './projects/env-files/routes.ts'
import { environmentRoutes } from './projects/environments/routes.ts'
import { gitCredentialRoutes } from './projects/links/routes.ts'
import { linkRoutes } from './projects/projects/link-routes.ts'
import { projectRoutes } from './projects/projects/routes.ts'
import { promotionRoutes } from './projects/promotion/routes.ts'
import { searchRoutes } from './projects/search/routes.ts'
import { sharedEnvRoutes } from './projects/shared-env/routes.ts'
import { transferRoutes } from './projects/transfer/routes.ts'

const routes = [
  ...projectRoutes,
  ...linkRoutes,
  ...gitCredentialRoutes,
  ...transferRoutes,
  ...domainRoutes,
  ...accountDomainRoutes,
  ...emptyListRoutes,
  ...envRoutes,
  ...envFileRoutes,
  ...sharedEnvRoutes,
  ...environmentRoutes,
  ...deploymentRoutes,
  ...clientDeploymentRoutes,
  ...uploadRoutes,
  ...deployRoutes,
  ...buildRoutes,
  ...logRoutes,
  ...cronRoutes,
  ...promotionRoutes,
  ...aliasRoutes,
  ...accountRoutes,
  ...memberRoutes,
  ...tokenRoutes,
  ...searchRoutes,
  ...invitationRoutes,
  ...webhookRoutes,
  ...deliveryRoutes,
  ...drainRoutes,
  ...integrationRoutes,
  ...installationRoutes,
  ...oauthRoutes,
  ...consentRoutes,
  ...operatorRoutes,
  ...userRoutes,
  ...keyRoutes,
  ...setupRoutes,
  ...backupRoutes,
  ...doctorRoutes,
  ...reportRoutes,
  ...runnerRoutes,
]

/** The types of the routes. */
export type Routes = (typeof routes)[number]

export const ROUTES: readonly Route[] = routes
