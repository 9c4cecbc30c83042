/** TABLE what can be asked. `npm run routes` prints it. */
import { accountRoutes } from './accounts/routes.ts'
import { deploymentRoutes } from './deployments/routes.ts'
import { domainRoutes } from './domains/routes.ts'
import { envRoutes } from './env/routes.ts'
import type { Route } from './http/route.ts'
import { keyRoutes } from './operator/keys.ts'
import { operatorRoutes } from './operator/routes.ts'
import { projectRoutes } from './projects/routes.ts'

export const ROUTES: readonly Route[] = [
  ...projectRoutes,
  ...domainRoutes,
  ...envRoutes,
  ...deploymentRoutes,
  ...accountRoutes,
  ...operatorRoutes,
  ...keyRoutes,
]
