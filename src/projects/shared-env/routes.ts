/** Shared variables at the paths of the newest SDK, with one more list path for the Terraform provider. docs/shared-variables.md. */
import { accountInGoodStanding } from '../../platform/access/guards.ts'
import { route } from '../../platform/http/route.ts'
import { Type } from '../../platform/schema/builder.ts'
import {
  CreatedShared,
  CreateShared,
  DeletedShared,
  DeleteShared,
  ListSharedQuery,
  SharedList,
  SharedVariable,
  UpdatedShared,
  UpdateShared,
} from './schema.ts'
import { actsForAccount, findShared, getShared, listShared } from './shared-env.ts'
import { createShared, deleteShared, findLink, unlinkShared, updateShared, WRITE_REFUSALS } from './write.ts'

const tag = 'shared environment variables'
const MEBIBYTE = 1024 * 1024

const listing = {
  method: 'GET' as const,
  tag,
  needs: ['env:read'] as const,
  query: ListSharedQuery,
  guards: [actsForAccount],
  run: listShared,
  list: { rows: 1000, rowBytes: 20 * 1024 },
  status: 200,
  reply: SharedList,
}

export const sharedEnvRoutes = [
  route({
    method: 'POST',
    path: '/v1/env',
    operationId: 'createSharedEnvVariable',
    summary: 'Create shared environment variables',
    tag,
    needs: ['env:write'],
    body: CreateShared,
    bodyLimit: MEBIBYTE,
    guards: [actsForAccount, accountInGoodStanding],
    run: createShared,
    refuses: WRITE_REFUSALS,
    status: 201,
    reply: CreatedShared,
  }),
  route({
    ...listing,
    path: '/v1/env',
    operationId: 'listSharedEnvVariable',
    summary: 'List the shared environment variables of the account',
  }),
  route({
    ...listing,
    path: '/v1/env/all',
    operationId: 'listAllSharedEnvVariables',
    summary: 'The same, as the Terraform provider asks',
  }),
  route({
    method: 'PATCH',
    path: '/v1/env',
    operationId: 'updateSharedEnvVariable',
    summary: 'Change shared environment variables, and which projects have them',
    tag,
    needs: ['env:write'],
    body: UpdateShared,
    bodyLimit: MEBIBYTE,
    guards: [actsForAccount],
    run: updateShared,
    refuses: ['not_found', 'env_stays_sensitive', ...WRITE_REFUSALS],
    status: 200,
    reply: UpdatedShared,
  }),
  route({
    method: 'DELETE',
    path: '/v1/env',
    operationId: 'deleteSharedEnvVariable',
    summary: 'Delete shared environment variables',
    tag,
    needs: ['env:write'],
    body: DeleteShared,
    guards: [actsForAccount],
    run: deleteShared,
    refuses: ['not_found', 'missing_permission', 'in_transfer'],
    status: 200,
    reply: DeletedShared,
  }),
  route({
    method: 'GET',
    path: '/v1/env/:id',
    operationId: 'getSharedEnvVar',
    summary: 'Get a shared environment variable, with its value where the caller may read it',
    tag,
    needs: ['env:read'],
    load: findShared,
    guards: [actsForAccount],
    run: getShared,
    refuses: ['not_found'],
    status: 200,
    reply: SharedVariable,
  }),
  route({
    method: 'PATCH',
    path: '/v1/env/:id/unlink/:projectId',
    operationId: 'unlinkSharedEnvVariable',
    summary: 'Unlink a shared environment variable from a project',
    tag,
    needs: ['env:write'],
    load: findLink,
    guards: [actsForAccount],
    run: unlinkShared,
    refuses: ['not_found', 'missing_permission', 'in_transfer', 'bad_request'],
    status: 200,
    reply: Type.Object({ id: Type.String() }),
  }),
]
