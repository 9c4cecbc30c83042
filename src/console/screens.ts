/** TABLE the pages of the console. docs/console.md. */
import type { Screen } from '../pages/screen.ts'
import { showFault } from './fault.ts'
import { appScreens } from './integrations/app.ts'
import { appListScreens } from './integrations/apps.ts'
import { installedIntegrationScreens } from './integrations/installed.ts'
import { liveScreens } from './live.ts'
import { operatorScreens } from './operator/screens.ts'
import { deploymentScreens } from './project/deployments.ts'
import { domainScreens } from './project/domain.ts'
import { domainListScreens } from './project/domains.ts'
import { environmentScreens } from './project/environments.ts'
import { projectListScreens } from './project/list.ts'
import { nameServerScreens } from './project/name-servers.ts'
import { projectScreens } from './project/overview.ts'
import { promotionScreens } from './project/promotion.ts'
import { settingsScreens } from './project/settings.ts'
import { transferScreens } from './project/transfer.ts'
import { compareScreens } from './project/variables/compare.ts'
import { envFileScreens } from './project/variables/env-file.ts'
import { variableFormScreens } from './project/variables/form.ts'
import { variableHistoryScreens } from './project/variables/history.ts'
import { variableScreens } from './project/variables/list.ts'
import { searchScreens } from './search.ts'
import { activityScreens } from './team/activity.ts'
import { memberScreens } from './team/members.ts'
import { teamSettingsScreens } from './team/settings.ts'
import { deliveryScreens } from './webhooks/deliveries.ts'
import { drainScreens } from './webhooks/drain.ts'
import { drainListScreens } from './webhooks/drains.ts'
import { webhookScreens } from './webhooks/webhook.ts'
import { webhookListScreens } from './webhooks/webhooks.ts'
import { profileScreens } from './you/profile.ts'
import { securityScreens } from './you/security.ts'
import { ownTokenScreens } from './you/tokens.ts'

const screens: readonly Screen[] = [
  ...projectListScreens,
  ...projectScreens,
  ...variableScreens,
  ...variableFormScreens,
  ...envFileScreens,
  ...variableHistoryScreens,
  ...compareScreens,
  ...domainListScreens,
  ...domainScreens,
  ...nameServerScreens,
  ...deploymentScreens,
  ...promotionScreens,
  ...settingsScreens,
  ...environmentScreens,
  ...transferScreens,
  ...installedIntegrationScreens,
  ...appListScreens,
  ...appScreens,
  ...webhookListScreens,
  ...webhookScreens,
  ...deliveryScreens,
  ...drainListScreens,
  ...drainScreens,
  ...memberScreens,
  ...teamSettingsScreens,
  ...activityScreens,
  ...profileScreens,
  ...securityScreens,
  ...ownTokenScreens,
  ...searchScreens,
  ...operatorScreens,
  ...liveScreens,
]

export const CONSOLE: readonly Screen[] = screens.map((screen) => ({ ...screen, showFault }))
