/** Refusals reach the SDK's user as an error with the status and the code of the response. */
import assert from 'node:assert/strict'
import { openSdk, readsOneRefusal, refusalOf } from './sdk-client.ts'
import type { Projects } from './sdk-projects.ts'
import type { Story } from './sdk-story.ts'

const ROW = '(refusals)'

/** Every kind of no, at the operations that say it. */
export async function tellRefusals(story: Story, { bare, full }: Projects): Promise<void> {
  const { sdk } = story
  const idOrName = bare.id
  const variable = { key: 'FIRST', value: 'f', target: ['production'], type: 'encrypted' }
  const name = `www.${story.label}0.com`
  const refused: [operation: string, request: object, status: number, code: string][] = [
    ['createProject', { requestBody: { name: 'bare' } }, 409, 'conflict'],
    ['createProject', { requestBody: { name: 'Wrong' } }, 400, 'invalid_project_name'],
    ['getProjects', { limit: '1000' }, 400, 'bad_request'],
    ['getProjects', { teamId: 'team_none' }, 403, 'forbidden'],
    ['getProject', { idOrName: 'none' }, 404, 'not_found'],
    ['updateProject', { idOrName: 'none', requestBody: {} }, 404, 'not_found'],
    ['updateProject', { idOrName, requestBody: { name: full[0].name } }, 409, 'conflict'],
    ['deleteProject', { idOrName: 'none' }, 404, 'not_found'],
    ['pauseProject', { projectId: 'none' }, 400, 'bad_request'],
    ['unpauseProject', { projectId: 'none' }, 400, 'bad_request'],
    ['updateProjectDataCache', { projectId: 'none', requestBody: { disabled: true } }, 404, 'not_found'],
    ['updateProjectProtectionBypass', { idOrName: 'none', requestBody: { generate: {} } }, 404, 'not_found'],
    ['listPromoteAliases', { projectId: 'none' }, 404, 'not_found'],
    ['addProjectDomain', { idOrName, requestBody: { name } }, 400, 'domain_already_in_use'],
    ['addProjectDomain', { idOrName, requestBody: { name: 'com' } }, 400, 'invalid_domain'],
    ['getProjectDomains', { idOrName: 'none' }, 404, 'not_found'],
    ['getProjectDomain', { idOrName, domain: 'none.com' }, 404, 'not_found'],
    ['updateProjectDomain', { idOrName, domain: name, requestBody: { redirect: name } }, 400, 'redirect_to_itself'],
    ['removeProjectDomain', { idOrName, domain: 'none.com' }, 404, 'not_found'],
    ['verifyProjectDomain', { idOrName, domain: 'none.com' }, 400, 'domain_not_assigned'],
    ['createProjectEnv', { idOrName: full[0].id, requestBody: variable }, 403, 'ENV_ALREADY_EXISTS'],
    ['filterProjectEnvs', { idOrName: 'none' }, 404, 'not_found'],
    ['getProjectEnv', { idOrName, id: 'none' }, 404, 'not_found'],
    ['editProjectEnv', { idOrName, id: 'none', requestBody: { value: 'v' } }, 404, 'not_found'],
    ['removeProjectEnv', { idOrName, id: 'none' }, 404, 'not_found'],
    ['getDeployment', { idOrUrl: 'dpl_none' }, 404, 'not_found'],
    ['getAlias', { idOrAlias: 'none.com' }, 404, 'not_found'],
    ['getWebhook', { id: 'hook_none' }, 404, 'not_found'],
    ['getConfiguration', { id: 'icfg_none' }, 404, 'not_found'],
    ['getTeam', { teamId: 'team_none' }, 404, 'not_found'],
    ['getAuthToken', { tokenId: 'none' }, 404, 'not_found'],
    ['getDomain', { domain: 'none.com' }, 404, 'not_found'],
    ['getCustomEnvironment', { idOrName, environmentSlugOrId: 'none' }, 404, 'not_found'],
    ['getProjectMembers', { idOrName: 'none' }, 404, 'not_found'],
  ]
  for (const [operation, request, status, code] of refused)
    await story.refused(operation, request, (error) => mean(sdk.version, error, status, code))

  const stranger = await openSdk(sdk.version, 'berth_unknown', sdk.serverURL)
  const error = await stranger.methods.get('getProjects')!({}).catch((rejected) => rejected)
  mean(sdk.version, error, 401, 'forbidden')
  story.called.add(ROW)
  if (readsOneRefusal(sdk.version))
    story.remarks.set(ROW, {
      outcome: 'works',
      why:
        'From 1.2 to 1.4 the SDK accepts one code and message of some 400, 401 and 404, and throws `SDKValidationError` for ' +
        'every other; its `rawValue` has the response.',
    })
}

function mean(version: string, error: unknown, status: number, code: string): void {
  const said = refusalOf(version, error)
  assert.deepEqual([said.status ?? status, said.code], [status, code], String(error))
}
