/** TABLE what can be asked. `npm run routes` prints it. */
import { accountRoutes } from './accounts/routes.ts'
import { aliasRoutes } from './deployments/alias-routes.ts'
import { clientDeploymentRoutes } from './deployments/client-routes.ts'
import { deploymentRoutes } from './deployments/routes.ts'
import { accountDomainRoutes } from './domains/account-routes.ts'
import { domainRoutes } from './domains/routes.ts'
import { drainRoutes } from './drains/routes.ts'
import { envRoutes } from './env/routes.ts'
import { environmentRoutes } from './environments/routes.ts'
import type { Route } from './http/route.ts'
import { integrationRoutes } from './integrations/routes.ts'
import { invitationRoutes } from './invitations/routes.ts'
import { keyRoutes } from './operator/keys.ts'
import { operatorRoutes } from './operator/routes.ts'
import { peopleRoutes } from './people/routes.ts'
import { linkRoutes } from './projects/link-routes.ts'
import { projectRoutes } from './projects/routes.ts'
import { transferRoutes } from './projects/transfer-routes.ts'
import { webhookRoutes } from './webhooks/routes.ts'

export const ROUTES: readonly Route[] = [
  ...projectRoutes,
  ...linkRoutes,
  ...transferRoutes,
  ...domainRoutes,
  ...accountDomainRoutes,
  ...envRoutes,
  ...environmentRoutes,
  ...deploymentRoutes,
  ...clientDeploymentRoutes,
  ...aliasRoutes,
  ...accountRoutes,
  ...invitationRoutes,
  ...webhookRoutes,
  ...drainRoutes,
  ...integrationRoutes,
  ...operatorRoutes,
  ...peopleRoutes,
  ...keyRoutes,
]
