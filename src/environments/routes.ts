/** Custom environments: wire.md 6, at the paths of the official SDK; the CLI and Terraform ask at others of the same operation. */
import { accountInGoodStanding, notInTransfer } from '../access/guards.ts'
import { COPY_REFUSALS } from '../env/environment-env.ts'
import { route } from '../http/route.ts'
import { findProject } from '../projects/projects.ts'
import {
  createEnvironment,
  findEnvironment,
  getEnvironment,
  listEnvironments,
  removeEnvironment,
  updateEnvironment,
} from './environments.ts'
import { EnvironmentList, EnvironmentsQuery, NewEnvironment, PatchEnvironment, RemoveEnvironment, ShownEnvironment } from './shape.ts'

const tag = 'custom environments'

export const environmentRoutes = [
  route({
    method: 'POST',
    path: '/v9/projects/:idOrName/custom-environments',
    operationId: 'createCustomEnvironment',
    summary: 'Create a custom environment',
    tag,
    needs: ['project:write'],
    body: NewEnvironment,
    on: findProject,
    guards: [accountInGoodStanding, notInTransfer],
    run: createEnvironment,
    emits: ['project.env-variable.created'],
    refuses: [
      'not_found',
      'invalid_environment_slug',
      'environment_slug_taken',
      'too_many_environments',
      ...COPY_REFUSALS,
    ],
    status: 201,
    reply: ShownEnvironment,
  }),
  route({
    method: 'GET',
    path: '/v9/projects/:idOrName/custom-environments',
    operationId: 'getProjectCustomEnvironments',
    summary: 'List the custom environments of a project',
    tag,
    needs: ['project:read'],
    query: EnvironmentsQuery,
    on: findProject,
    run: listEnvironments,
    refuses: ['not_found'],
    status: 200,
    reply: EnvironmentList,
  }),
  route({
    method: 'GET',
    path: '/v9/projects/:idOrName/custom-environments/:environmentSlugOrId',
    operationId: 'getCustomEnvironment',
    summary: 'Get a custom environment by its slug or id',
    tag,
    needs: ['project:read'],
    on: findEnvironment,
    run: getEnvironment,
    refuses: ['not_found'],
    status: 200,
    reply: ShownEnvironment,
  }),
  route({
    method: 'PATCH',
    path: '/v9/projects/:idOrName/custom-environments/:environmentSlugOrId',
    operationId: 'updateCustomEnvironment',
    summary: 'Change a custom environment',
    tag,
    needs: ['project:write'],
    body: PatchEnvironment,
    on: findEnvironment,
    guards: [accountInGoodStanding, notInTransfer],
    run: updateEnvironment,
    refuses: ['not_found', 'invalid_environment_slug', 'environment_slug_taken'],
    status: 200,
    reply: ShownEnvironment,
  }),
  route({
    method: 'DELETE',
    path: '/v9/projects/:idOrName/custom-environments/:environmentSlugOrId',
    operationId: 'removeCustomEnvironment',
    summary: 'Remove a custom environment; its variables stay, in no environment, or are deleted',
    tag,
    needs: ['project:write'],
    body: RemoveEnvironment,
    on: findEnvironment,
    guards: [notInTransfer],
    run: removeEnvironment,
    emits: ['project.env-variable.updated', 'project.env-variable.deleted'],
    refuses: ['not_found', 'env_limit'],
    status: 200,
    reply: ShownEnvironment,
  }),
]
