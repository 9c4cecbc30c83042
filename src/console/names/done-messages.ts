/** What each form of the console changed, as the page after it says. docs/console.md: Forms. */
import type { Done, ScreenInput } from '../../platform/pages/screen.ts'
import { projectPath } from '../frame.ts'

type Asked = Pick<ScreenInput, 'params'> & { form: unknown; answer: unknown }
/** The submitted fields as text, lists joined. */
type Fields = Record<string, string | undefined>
type Sentence = (asked: { params: Asked['params']; form: Fields; answer: Record<string, unknown> }) => string

const LATER = 'This takes effect with the next deployment: redeploy to apply it now.'

/** TABLE name of a form → what it changed; null: the next page says it itself. */
export const DONE_MESSAGES: Readonly<Record<string, Sentence | string | null>> = {
  consoleCreateProject: ({ answer }) => `The project ${answer.name} is created.`,
  'console-pause-project': ({ params }) =>
    `${params.name} is paused. Visitors see a page with 503 until you resume it.`,
  'console-unpause-project': ({ params }) => `${params.name} is online again, and new production deployments go live.`,
  consoleResumePromotion: 'New production deployments go live automatically again. One that waits stays as it is.',
  'console-switch-crons': ({ form }) =>
    form.enabled === 'true' ? 'The cron jobs are on. Each runs at its next time.' : 'The cron jobs are off. None runs.',
  consoleCreateVariable: ({ form }) => `${form.key?.trim()} is added. ${LATER}`,
  consoleEditVariable: ({ form }) => `${form.key?.trim() || 'The variable'} is changed. ${LATER}`,
  consoleDeleteVariable: `The variable is deleted. ${LATER}`,
  consoleDeleteVariables: ({ answer }) =>
    `${answer.deleted === 1 ? 'The variable is' : `${answer.deleted} variables are`} deleted. ${LATER}`,
  consoleRestoreVariable: `The earlier value is restored. ${LATER}`,
  consoleImportVariables: ({ answer }) => `${changesOf(answer)} ${LATER}`,
  consoleCreateSharedVariable: ({ form }) => `${form.key?.trim()} is added. ${LATER}`,
  consoleEditSharedVariable: ({ form }) => `${form.key?.trim() || 'The variable'} is changed. ${LATER}`,
  consoleDeleteSharedVariable: `The variable is deleted. ${LATER}`,
  consoleLinkSharedVariable: ({ form }) =>
    `The variable is ${form.linked === 'true' ? 'linked' : 'unlinked'}. ${LATER}`,
  consoleAddDomain: ({ answer }) =>
    `${answer.name} is added.${answer.verified === false ? ' It serves nothing until it is verified.' : ''}`,
  consoleVerifyDomain: ({ params }) => `${params.domain} is verified.`,
  consoleUpdateDomain: ({ params }) => `The routing of ${params.domain} is saved.`,
  consoleRemoveDomain: ({ params }) => `${params.domain} is removed. Its DNS records are as they were.`,
  'console-promote': null,
  'console-rollback': null,
  'console-cancel-deployment': 'The deployment is canceled.',
  'console-remove-deployment': 'The deployment is removed.',
  'console-remove-deployments': ({ answer }) =>
    answer.removed === 1 ? 'The deployment is removed.' : `${answer.removed} deployments are removed.`,
  consoleAssignAlias: ({ answer }) => `${answer.alias} points to this deployment.`,
  consoleDeleteAlias: ({ params }) =>
    `${params.alias} is unassigned: it serves no deployment. It stays on the project.`,
  'console-redeploy': 'A new deployment is created from the same source.',
  consoleUpdateProject: 'The settings are saved. Builds from now on use them.',
  consoleProtectProject: 'The protection is saved. Visitors get it within a second.',
  consoleSwitchDataCache: 'The data cache is switched.',
  consolePurgeCaches: 'The caches are purged. Sites servers follow within 2 seconds.',
  consoleCreateBypassSecret: 'The secret is created. It passes the protection within 2 seconds.',
  consoleRevokeBypassSecret: 'The secret is revoked. It passes no protection any more.',
  consoleChooseBypassSecret: `The variable of deployments is changed. ${LATER}`,
  consoleDeleteProject: ({ params }) => `The project ${params.name} is deleted, with its deployments.`,
  consoleCreateEnvironment: ({ answer }) => `The environment ${answer.slug} is created.`,
  consoleUpdateEnvironment: 'The environment is saved.',
  consoleRemoveEnvironment: 'The environment is removed.',
  consoleLinkProject: ({ form }) => `The project is linked to ${form.repo?.trim()}.`,
  consoleSetProductionBranch: ({ form }) => `The production branch is ${form.branch?.trim()}.`,
  consoleUnlinkProject: 'The project is unlinked. Its deployments stay.',
  consoleSetRetention: ({ answer }) =>
    Object.values(answer.deploymentExpiration as object).every((period) => period === 'unlimited')
      ? 'The retention is saved. All deployments stay.'
      : 'The retention is saved. The first deployments are removed after an hour.',
  consoleAcceptTransfer: 'The transfer has started. The project is in this list once it has moved.',
  consoleAddInstallationProject: ({ form }) => `${form.project} is added to the installation.`,
  consoleRemoveInstallationProject: 'The project is removed from the installation.',
  consoleUninstall: 'The app is uninstalled. Its tokens are revoked.',
  consoleUpdateApp: 'The app is saved.',
  consoleDeleteAppSecret: 'The secret is revoked. Nothing can be signed in with it any more.',
  consoleDeleteApp: 'The app is removed.',
  consoleReplayRange: ({ answer: { replayed, next } }) =>
    `${replayed} sent again.${next === null ? '' : ' There may be later ones: resend with fewer hours.'}`,
  consoleUpdateWebhook: 'The webhook is saved. Events from now on go by it.',
  consoleEnableWebhook: 'The webhook is enabled. Events from now on are sent.',
  consoleTakeWebhookOver: 'The webhook is yours.',
  consoleDeleteWebhook: 'The webhook is removed.',
  consoleReplayDelivery: 'The delivery is sent again.',
  'console-enable-drain': 'The drain is enabled. Lines from now on are sent.',
  'console-disable-drain': 'The drain is disabled. Lines are dropped until you enable it.',
  'console-take-over-drain': 'The drain is yours.',
  consoleDeleteDrain: 'The drain is removed.',
  consoleSendLines: 'The lines are sent again.',
  consoleChangeRole: ({ form }) => `The role is ${form.role?.toLowerCase()} now.`,
  consoleRemoveMember: 'The member is removed. Their tokens reach nothing in this team.',
  consoleWithdrawInvitation: 'The invitation is withdrawn. Its link opens nothing any more.',
  consoleLeaveTeam: ({ params }) => `You left the team ${params.slug}.`,
  consoleChangeTeam: 'The settings of the team are saved.',
  consoleMakeTeam: ({ answer }) => `The team ${answer.slug} is created. Invite its members here.`,
  consoleEndToken: 'The token is revoked. Requests with it are refused.',
  'console-set-suspended': ({ form }) => (form.suspended === 'true' ? 'Suspended, and signed out.' : 'Active again.'),
  'console-set-operator': ({ form }) => (form.operator === 'true' ? 'An operator now.' : 'No operator any more.'),
  consoleRemovePerson: ({ form }) => `${form.called} is removed.`,
  consoleEndSessions: 'Signed out everywhere. Tokens keep working.',
  consoleRemoveSecondFactors: 'The second factors are removed.',
  consoleOperatorCreateTeam: ({ form }) => `The team ${form.slug?.trim()} is created.`,
  consoleSetPlan: 'The account is saved.',
  consoleRemoveTeam: ({ form }) => `The team ${form.called} is removed, with its projects.`,
  consoleOperatorDeleteIntegration: 'The app is removed, with its installations.',
  consoleRotateKeys: 'A new key encrypts what is written from now on. The rest follows in the background.',
  consoleRetireKey: 'The key is retired.',
  consoleDrainRunner: ({ form }) => (form.draining === 'true' ? 'The runner is draining.' : 'The runner builds again.'),
  consoleRemoveRunner: 'The runner is removed. Its builds go back to the queue.',
  consoleAcknowledgeSetup: ({ params }) =>
    params.step === 'all' ? 'The list is dismissed.' : 'The step counts as done.',
  consoleRunTimer: ({ params }) => `${params.name} ran.`,
  consoleMakeBackup: 'A backup is being made.',
  consoleVerifyBackup: 'The backup is being checked.',
}

function changesOf({ plan }: Record<string, unknown>): string {
  const { created, updated, removed } = plan as Record<'created' | 'updated' | 'removed', unknown[]>
  const counts = [`${created.length} added`, `${updated.length} changed`, `${removed.length} deleted`]
  return `${counts.filter((count) => !count.startsWith('0 ')).join(', ')}.`
}

/** TABLE the forms whose change takes effect with the next deployment of the project. */
const OF_NEXT_DEPLOYMENT: ReadonlySet<string> = new Set([
  'consoleCreateVariable',
  'consoleEditVariable',
  'consoleDeleteVariable',
  'consoleDeleteVariables',
  'consoleRestoreVariable',
  'consoleImportVariables',
  'consoleLinkSharedVariable',
])

/** Returns the sentence for the page after a form, with the way to redeploy where it takes that; undefined where that page says it itself. */
export function doneMessage(name: string, asked: Asked): Done | undefined {
  const sentence = sentenceOf(name, asked)
  if (sentence === undefined || !OF_NEXT_DEPLOYMENT.has(name)) return sentence
  const { slug = '', name: project = '' } = asked.params
  return { sentence, next: { words: 'Go to deployments', path: projectPath({ slug }, project, 'deployments') } }
}

function sentenceOf(name: string, { params, form, answer }: Asked): string | undefined {
  const message = DONE_MESSAGES[name]
  if (typeof message !== 'function') return message ?? undefined
  const fields = Object.entries((form ?? {}) as object).map(([field, value]) => [field, [value].flat().join(', ')])
  return message({ params, form: Object.fromEntries(fields), answer: (answer ?? {}) as Record<string, unknown> })
}
