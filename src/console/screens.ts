/** TABLE Console pages. docs/console.md. */
import type { Screen } from '../platform/pages/screen.ts'
import { consoleErrorPage } from './error-page.ts'
import { helpScreens } from './help/pages.ts'
import { appScreens } from './integrations/app.ts'
import { appListScreens } from './integrations/apps.ts'
import { installedIntegrationScreens } from './integrations/installation.ts'
import { liveScreens } from './live.ts'
import { operatorScreens } from './operator/screens.ts'
import { buildLogScreens } from './project/build-log.ts'
import { confirmScreens } from './project/confirm.ts'
import { aliasScreens } from './project/deployment/assign.ts'
import { deploymentFileScreens } from './project/deployment/files.ts'
import { deploymentRemovalScreens } from './project/deployment/removal.ts'
import { chosenRemovalScreens } from './project/deployment/removals.ts'
import { deploymentScreens } from './project/deployments.ts'
import { domainScreens } from './project/domain.ts'
import { domainListScreens } from './project/domains.ts'
import { environmentScreens } from './project/environments.ts'
import { projectListScreens } from './project/list.ts'
import { nameServerScreens } from './project/name-servers.ts'
import { projectScreens } from './project/overview.ts'
import { promotionScreens } from './project/promotion.ts'
import { bypassScreens } from './project/settings/bypass.ts'
import { gitLinkScreens } from './project/settings/git-link.ts'
import { receiveScreens } from './project/settings/receive.ts'
import { retentionScreens } from './project/settings/retention.ts'
import { settingsScreens } from './project/settings.ts'
import { transferScreens } from './project/transfer.ts'
import { compareScreens } from './project/variables/compare.ts'
import { envFileScreens } from './project/variables/env-file.ts'
import { variableFormScreens } from './project/variables/form.ts'
import { variableHistoryScreens } from './project/variables/history.ts'
import { variableScreens } from './project/variables/list.ts'
import { variableRemovalScreens } from './project/variables/removals.ts'
import { sharedOfProjectScreens } from './project/variables/shared.ts'
import { variableValueScreens } from './project/variables/values.ts'
import { searchScreens } from './search.ts'
import { sharedVariableFormScreens } from './shared-variables/form.ts'
import { sharedVariableScreens } from './shared-variables/list.ts'
import { activityScreens } from './team/activity.ts'
import { inviteScreens } from './team/invite.ts'
import { memberScreens } from './team/members.ts'
import { teamSettingsScreens } from './team/settings.ts'
import { profileScreens } from './user/profile.ts'
import { securityScreens } from './user/security.ts'
import { ownTokenScreens } from './user/tokens.ts'
import { deliveryScreens } from './webhooks/deliveries.ts'
import { drainScreens } from './webhooks/drain.ts'
import { drainListScreens } from './webhooks/drains.ts'
import { webhookScreens } from './webhooks/webhook.ts'
import { webhookFormScreens } from './webhooks/webhook-form.ts'
import { webhookListScreens } from './webhooks/webhooks.ts'

const screens: readonly Screen[] = [
  ...projectListScreens,
  ...projectScreens,
  ...variableScreens,
  ...variableValueScreens,
  ...variableRemovalScreens,
  ...variableFormScreens,
  ...envFileScreens,
  ...variableHistoryScreens,
  ...compareScreens,
  ...sharedOfProjectScreens,
  ...sharedVariableScreens,
  ...sharedVariableFormScreens,
  ...domainListScreens,
  ...domainScreens,
  ...nameServerScreens,
  ...deploymentScreens,
  ...deploymentFileScreens,
  ...deploymentRemovalScreens,
  ...chosenRemovalScreens,
  ...aliasScreens,
  ...buildLogScreens,
  ...confirmScreens,
  ...promotionScreens,
  ...settingsScreens,
  ...environmentScreens,
  ...bypassScreens,
  ...gitLinkScreens,
  ...retentionScreens,
  ...transferScreens,
  ...receiveScreens,
  ...installedIntegrationScreens,
  ...appListScreens,
  ...appScreens,
  ...webhookListScreens,
  ...webhookScreens,
  ...webhookFormScreens,
  ...deliveryScreens,
  ...drainListScreens,
  ...drainScreens,
  ...inviteScreens,
  ...memberScreens,
  ...teamSettingsScreens,
  ...activityScreens,
  ...profileScreens,
  ...securityScreens,
  ...ownTokenScreens,
  ...searchScreens,
  ...helpScreens,
  ...operatorScreens,
  ...liveScreens,
]

/** TABLE Pages that show more than their form, so roles without the form can read the rest. */
const SHOW_MORE: readonly string[] = [
  '/console/t/:slug/settings',
  '/console/t/:slug/projects/:name/settings',
  '/console/t/:slug/projects/:name/settings/environments',
  '/console/t/:slug/projects/:name/settings/environments/:environmentSlugOrId',
  '/console/t/:slug/projects/:name/settings/git',
  '/console/t/:slug/projects/:name/settings/retention',
  '/console/t/:slug/projects/:name/domains/:domain',
]

/** Other pages with a form require the permission to send it. */
function purposeOf({ method, path }: Screen): Pick<Screen, 'requiresCall'> {
  if (method !== 'GET' || !path.startsWith('/console/t/:slug/') || SHOW_MORE.includes(path)) return {}
  const form = screens.find((screen) => screen.method === 'POST' && screen.path === path)
  const onlyFor = form?.calls?.[0]
  return onlyFor === undefined ? {} : { requiresCall: onlyFor }
}

export const CONSOLE: readonly Screen[] = screens.map((screen) => ({
  ...screen,
  ...purposeOf(screen),
  renderErrorPage: consoleErrorPage,
}))
