/** What can be asked of integrations: apps, installations, and the exchange of codes. */
import { appRoutes } from './app-routes.ts'
import { configurationRoutes } from './configuration-routes.ts'
import { lifeRoutes } from './life-routes.ts'
import { oauthRoutes } from './oauth-routes.ts'

export const integrationRoutes = [...appRoutes, ...configurationRoutes, ...lifeRoutes, ...oauthRoutes]
