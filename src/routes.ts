/** TABLE what can be asked. `npm run routes` prints it. */

import { accountDomainRoutes } from './account-domains/routes.ts'
import { accountRoutes } from './accounts/routes.ts'
import { aliasRoutes } from './aliases/routes.ts'
import { backupRoutes } from './backup/routes.ts'
import { consentRoutes } from './consent/routes.ts'
import { deliveryRoutes } from './deliveries/routes.ts'
import { clientDeploymentRoutes } from './deployments/client-routes.ts'
import { deploymentRoutes } from './deployments/routes.ts'
import { doctorRoutes } from './doctor/routes.ts'
import { domainRoutes } from './domains/routes.ts'
import { drainRoutes } from './drains/routes.ts'
import { emptyListRoutes } from './empty-lists/routes.ts'
import { envRoutes } from './env/routes.ts'
import { envFileRoutes } from './env-files/routes.ts'
import { environmentRoutes } from './environments/routes.ts'
import type { Route } from './http/route.ts'
import { installationRoutes } from './installations/routes.ts'
import { integrationRoutes } from './integrations/routes.ts'
import { gitCredentialRoutes } from './links/routes.ts'
import { invitationRoutes } from './members/invitation-routes.ts'
import { memberRoutes } from './members/routes.ts'
import { oauthRoutes } from './oauth/routes.ts'
import { keyRoutes } from './operator/keys.ts'
import { operatorRoutes } from './operator/routes.ts'
import { peopleRoutes } from './people/routes.ts'
import { linkRoutes } from './projects/link-routes.ts'
import { projectRoutes } from './projects/routes.ts'
import { promotionRoutes } from './promotion/routes.ts'
import { reportRoutes } from './report/routes.ts'
import { searchRoutes } from './search/routes.ts'
import { sharedEnvRoutes } from './shared-env/routes.ts'
import { tokenRoutes } from './tokens/routes.ts'
import { transferRoutes } from './transfer/routes.ts'
import { webhookRoutes } from './webhooks/routes.ts'

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
  ...peopleRoutes,
  ...keyRoutes,
  ...backupRoutes,
  ...doctorRoutes,
  ...reportRoutes,
]

/** The types of the routes, as they were written. */
export type Routes = (typeof routes)[number]

export const ROUTES: readonly Route[] = routes
