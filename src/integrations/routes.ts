/** What can be asked of integrations: apps, installations, and the exchange of codes. */
import { appRoutes } from './app-routes.ts'

export const integrationRoutes = [...appRoutes]
