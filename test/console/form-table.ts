/** TABLE every form of the pages, by its path: the fields that users type into, and valid values. docs/console.md: Forms. */
import { CONSOLE } from '../../src/console/screens.ts'
import type { Screen } from '../../src/platform/pages/screen.ts'
import { SCREENS } from '../../src/screens.ts'
import type { Fields } from '../support/clients/browser-client.ts'
import type { Samples } from '../support/sample-requests.ts'

export type Form = {
  /** The fields that users type into. */
  typed?: readonly string[]
  /** Fields of a form that is taken after `seedSamples`; {} where it has none. Undefined where none is taken, and `twice` says why. */
  good?: Fields | ((samples: Samples) => Fields)
  /** What happens when it is sent twice, where no key of the form says so. */
  twice?: string
}

const APP = { name: 'Helper', redirectUrl: 'https://app.example.com/back', 'level-project': 'read' }
const DRAIN = { url: 'https://logs.example.com', format: 'json', sources: ['edge'], environments: ['preview'] }
const VARIABLE = { target: ['preview'], type: 'encrypted' }
const SETTINGS = [
  'name',
  'buildCommand',
  'installCommand',
  'devCommand',
  'commandForIgnoringBuildStep',
  'outputDirectory',
  'rootDirectory',
]

const T = '/console/t/:slug'
const PROJECT = `${T}/projects/:name`
const OPERATOR = '/console/operator'
const FACTORS = '/console/account/security/factors'

/** The order is one in which each finds what it is about. */
export const FORMS: Record<string, Form> = {
  [`${T}/drains/:id/deliveries/:deliveryId/replay`]: { good: {} },
  [`${OPERATOR}/deliveries/:id/replay`]: { good: {} },
  [`${T}/new`]: { typed: ['name'], good: { name: 'sample' } },
  [`${T}/receive`]: {
    typed: ['code', 'newProjectName'],
    good: ({ transferCode }) => ({ code: transferCode, step: 'accept' }),
  },
  [`${PROJECT}/pause`]: { good: {} },
  [`${PROJECT}/unpause`]: { good: {} },
  [`${PROJECT}/automatic-promotion`]: { good: {} },
  [`${PROJECT}/crons`]: { good: { enabled: 'false' } },
  [`${PROJECT}/variables/new`]: {
    typed: ['key', 'value', 'gitBranch', 'comment'],
    good: { ...VARIABLE, key: 'SAMPLE', value: 'v' },
  },
  [`${PROJECT}/variables/import`]: {
    typed: ['text', 'gitBranch'],
    good: { ...VARIABLE, text: 'A=1', mode: 'merge', step: 'plan' },
    twice: 'a plan that was applied is another plan, so the second is shown what there is now',
  },
  [`${PROJECT}/variables/:id/edit`]: {
    typed: ['key', 'value', 'gitBranch', 'comment'],
    good: { ...VARIABLE, key: 'TOKEN', value: 'third', comment: 'why' },
  },
  [`${PROJECT}/variables/delete`]: { good: { id: ['env_unknown'] } },
  [`${PROJECT}/variables/:id/history/:version/restore`]: { good: {} },
  [`${PROJECT}/variables/:id/delete`]: { good: {} },
  [`${T}/variables/new`]: {
    typed: ['key', 'value', 'comment', 'projectIds'],
    good: ({ projectId }) => ({ ...VARIABLE, key: 'SAMPLE', value: 'v', projectIds: [projectId] }),
  },
  [`${T}/variables/:id/edit`]: {
    typed: ['key', 'value', 'comment', 'projectIds'],
    good: { ...VARIABLE, key: 'SHARED', value: 'third', comment: 'why' },
  },
  [`${PROJECT}/variables/shared/:id`]: { good: ({ projectId }) => ({ projectId, linked: 'true' }) },
  [`${T}/variables/:id/delete`]: { good: {} },
  [`${PROJECT}/domains/add`]: { typed: ['name', 'gitBranch', 'redirect'], good: { name: 'added.example.com' } },
  [`${PROJECT}/domains/:domain`]: { typed: ['gitBranch', 'redirect'], good: { gitBranch: 'next' } },
  [`${PROJECT}/domains/:domain/verify`]: { good: {} },
  [`${PROJECT}/domains/:domain/remove`]: { good: {} },
  [`${PROJECT}/deployments/:id/promote`]: { good: {} },
  [`${PROJECT}/deployments/:id/rollback`]: { good: {} },
  [`${PROJECT}/deployments/:id/cancel`]: { twice: 'the deployment has ended: it says so' },
  [`${PROJECT}/deployments/:id/aliases`]: { typed: ['alias'], good: { alias: 'kept.example.com' } },
  [`${PROJECT}/deployments/:id/aliases/:alias/remove`]: { good: {} },
  [`${PROJECT}/deployments/:id/remove`]: { good: {} },
  [`${PROJECT}/deployments/remove`]: { good: ({ oldDeploymentId }) => ({ id: [oldDeploymentId] }) },
  [`${PROJECT}/deployments/:id/redeploy`]: { twice: 'one deployment: test/console/project/build-page.test.ts' },
  [`${PROJECT}/settings`]: { typed: SETTINGS, good: { name: 'web', nodeVersion: '20.x', framework: '' } },
  [`${PROJECT}/settings/protection`]: { good: { passwordFor: '', signInFor: '' } },
  [`${PROJECT}/settings/data-cache`]: { good: { disabled: 'on' } },
  [`${PROJECT}/settings/environments`]: { typed: ['slug', 'description'], good: { slug: 'sample' } },
  [`${PROJECT}/settings/purge`]: { good: {} },
  [`${PROJECT}/settings/bypass`]: { typed: ['note'], good: { note: 'sample' } },
  [`${PROJECT}/settings/bypass/variable`]: { twice: 'the secret is the variable already' },
  [`${PROJECT}/settings/bypass/revoke`]: { twice: 'there is no such secret any more: it says so' },
  [`${PROJECT}/settings/environments/:environmentSlugOrId`]: {
    typed: ['slug', 'description', 'branchPattern'],
    good: { slug: 'staging', description: 'sample' },
  },
  [`${PROJECT}/settings/environments/:environmentSlugOrId/remove`]: { good: {} },
  [`${PROJECT}/settings/git`]: { typed: ['repo'], good: { type: 'github', repo: 'acme/web' } },
  [`${PROJECT}/settings/git/branch`]: { typed: ['branch'], good: { branch: 'trunk' } },
  [`${PROJECT}/settings/git/unlink`]: { good: {} },
  [`${PROJECT}/settings/retention`]: { good: { expirationErrored: '1w' } },
  [`${PROJECT}/transfer`]: { good: {} },
  [`${T}/integrations/:id/projects`]: { typed: ['project'], good: { project: 'other' } },
  [`${T}/integrations/:id/projects/:projectId/remove`]: { good: {} },
  [`${T}/integrations/:id/uninstall`]: { good: {} },
  [`${T}/apps/new`]: {
    typed: ['slug', 'name', 'redirectUrl', 'webhookUrl', 'logoUrl'],
    good: { ...APP, slug: 'sample-app' },
  },
  [`${T}/apps/:id/change`]: { typed: ['name', 'redirectUrl', 'webhookUrl', 'logoUrl', 'level-team'], good: APP },
  [`${T}/apps/:id/secrets`]: { good: {} },
  [`${T}/apps/:id/secrets/:secretId/delete`]: { good: {} },
  [`${T}/apps/:id/delete`]: { good: {} },
  [`${T}/webhooks/new`]: {
    typed: ['url', 'events', 'projectIds'],
    good: { url: 'https://hooks.example.com', events: ['project.created'] },
  },
  [`${T}/webhooks/:id/deliveries/:deliveryId/replay`]: { good: {} },
  [`${T}/webhooks/:id/test`]: { good: {} },
  [`${T}/webhooks/:id/replay`]: { typed: ['hours', 'status'], good: { hours: '24', status: 'failed' } },
  [`${T}/webhooks/:id/edit`]: {
    typed: ['url', 'groups', 'events', 'projectIds'],
    good: { url: 'https://hooks.example.com/next', events: ['project.created'] },
  },
  [`${T}/webhooks/:id/enable`]: { good: {} },
  [`${T}/webhooks/:id/take-over`]: { good: {} },
  [`${T}/webhooks/:id/delete`]: { good: {} },
  [`${T}/drains/new`]: {
    typed: ['name', 'url', 'format', 'headers', 'sources'],
    good: { ...DRAIN, name: 'logs' },
  },
  [`${T}/drains/new/test`]: { typed: ['url', 'headers'], good: { ...DRAIN, name: 'logs' } },
  [`${T}/drains/:id/enable`]: { good: {} },
  [`${T}/drains/:id/disable`]: { good: {} },
  [`${T}/drains/:id/take-over`]: { good: {} },
  [`${T}/drains/:id/delete`]: { good: {} },
  [`${T}/members/invite`]: {
    typed: ['email', 'role', 'username'],
    good: { email: 'sample@example.org', role: 'VIEWER', username: 'invited' },
  },
  [`${T}/members/:uid/role`]: { typed: ['role'], good: { role: 'DEVELOPER' } },
  [`${T}/members/:uid/remove`]: { good: {} },
  [`${T}/members/:uid/withdraw`]: { good: {} },
  [`${T}/members/:uid/leave`]: { twice: 'after leaving, the user is not in the team: 404' },
  [`${T}/settings`]: {
    typed: ['name', 'slug', 'description', 'sensitive'],
    good: { name: 'Team', slug: 'team', sensitive: 'default' },
  },
  '/console/teams/new': { typed: ['name', 'slug'], good: { slug: 'own-team' } },
  '/console/account': { typed: ['name', 'username'], twice: 'the same name and username are there already' },
  '/console/account/theme': { twice: 'the browser has that theme already' },
  '/console/account/time-zone': { twice: 'the browser has that time zone already' },
  '/console/account/email': { twice: 'the link is spent: it says so' },
  '/console/account/email/change': { typed: ['email'], twice: 'a second letter, and the link of the first is spent' },
  '/console/account/security/password': {
    typed: ['password', 'next', 'again'],
    twice: 'the present password is another one by now: it says so, and counts one wrong password',
  },
  '/console/account/security/sessions/others/end': { twice: 'there are no others any more' },
  '/console/account/security/sessions/:sessionId/end': { twice: 'there is no such session any more: 404' },
  '/console/account/tokens/new': {
    typed: ['name', 'account', 'project', 'days', 'may', 'level-project'],
    good: { name: 'sample', account: '', days: '90', may: 'all' },
  },
  '/console/account/tokens/:id/end': { good: {} },
  [`${FACTORS}/codes/begin`]: { twice: 'another key, and the page shows that one' },
  [`${FACTORS}/codes`]: {
    typed: ['code'],
    twice: 'a code is used up: the page of second factors, which makes new recovery codes',
  },
  [`${FACTORS}/codes/remove`]: { twice: 'the list is empty' },
  [`${FACTORS}/passkeys`]: { typed: ['name'], twice: 'a passkey is there once: it says so' },
  [`${FACTORS}/passkeys/name`]: { typed: ['name'], twice: 'it is called so already' },
  [`${FACTORS}/passkeys/remove`]: { twice: 'it is not there any more' },
  [`${FACTORS}/recovery`]: { twice: 'the codes that are shown last are the ones that count' },
  [`${OPERATOR}/people/invite`]: {
    typed: ['email', 'username', 'name'],
    good: { email: 'sample@example.com', username: 'sample' },
  },
  [`${OPERATOR}/people/:id/link`]: { good: {} },
  [`${OPERATOR}/people/:id/sessions/end`]: { good: {} },
  [`${OPERATOR}/people/:id/operator`]: { good: { operator: 'true' } },
  [`${OPERATOR}/teams/new`]: {
    typed: ['slug', 'name', 'ownerId'],
    good: { slug: 'samples', name: 'Samples', ownerId: 'spare' },
  },
  [`${OPERATOR}/teams/:id/plan`]: { typed: ['plan'], good: { plan: 'enterprise' } },
  [`${OPERATOR}/tokens/:id/end`]: { good: { search: 'ada' } },
  [`${OPERATOR}/integrations/:id/delete`]: { good: {} },
  [`${OPERATOR}/keys/rotate`]: { good: {} },
  [`${OPERATOR}/keys/:id/retire`]: { good: {} },
  [`${OPERATOR}/runners/:id/drain`]: { good: { draining: 'true' } },
  [`${OPERATOR}/runners/:id/remove`]: { good: {} },
  [`${OPERATOR}/timers/:name/run`]: { good: {} },
  [`${OPERATOR}/setup/:step`]: { good: {} },
  [`${OPERATOR}/backups`]: { twice: 'one backup is made: it runs parallel to the test' },
  [`${OPERATOR}/backups/verify`]: { twice: 'one backup is checked: it runs parallel to the test' },
  [`${OPERATOR}/people/:id/second-factors`]: { twice: 'nothing is left to remove' },
  [`${OPERATOR}/people/:id/suspended`]: { good: { suspended: 'true' } },
  [`${OPERATOR}/teams/:id/remove`]: { typed: ['typed'], good: { typed: 'rivals', called: 'rivals', force: 'on' } },
  [`${OPERATOR}/people/:id/remove`]: { typed: ['typed'], good: { typed: 'spare', called: 'spare', force: 'on' } },
  [`${PROJECT}/settings/delete`]: { typed: ['typed'], good: { typed: 'web' } },
  '/console/kept': { twice: 'it shows what was typed and changes nothing' },
}

/** The forms of the console, by their paths. */
export const CONSOLE_FORMS: ReadonlyMap<string, Screen> = new Map(
  [...CONSOLE, ...SCREENS]
    .filter(({ method, path }) => method === 'POST' && path.startsWith('/console/'))
    .map((screen) => [screen.path, screen]),
)

/** The forms below an address, in the order of the table. */
export function formsBelow(start: string, which: RegExp): string[] {
  return Object.keys(FORMS).filter((path) => path.startsWith(start) && which.test(path.slice(start.length)))
}
