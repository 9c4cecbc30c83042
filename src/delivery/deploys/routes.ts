import { accountInGoodStanding, notInTransfer } from '../../platform/access/guards.ts'
import { route } from '../../platform/http/route.ts'
import { findDeployment } from '../../projects/deployments/deployments.ts'
import { DEPLOYMENT_EVENTS } from '../../projects/deployments/register.ts'
import { Deployment } from '../../projects/deployments/schema.ts'
import { READERS } from '../../readers.ts'
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'
import { cancelDeployment, findToCancel } from './cancel.ts'
import { FileContents, FileTree, listDeploymentFiles, readDeploymentFile } from './contents.ts'
import { createClientDeployment, makesDeployment, prepareCreate, undoCreate } from './create.ts'
import { CreateDeployment, CreateDeploymentQuery, noticeHeaders } from './create-schema.ts'

const tag = 'deployments'
const OF_A_BUILD = 'Berth builds only uploaded files: a request without files is refused'
/** Clients without a response retry within this time. */
const REPEATED_MS = 10_000

export const deployRoutes = [
  route({
    method: 'POST',
    path: '/v13/deployments',
    operationId: 'createDeployment',
    summary: 'Deploy a source or an output whose files were uploaded, deploy one again, or promote a preview',
    tag,
    needs: ['project:write', 'deployment:write'],
    query: CreateDeploymentQuery,
    body: CreateDeployment,
    bodyLimit: READERS['JSON body with a list'].bytes,
    listBody: 'files',
    slow: true,
    repeats: { ms: REPEATED_MS, may: makesDeployment },
    ignores: {
      body: {
        ...{ buildMachine: OF_A_BUILD, gitAccessToken: OF_A_BUILD, gitSource: OF_A_BUILD, monorepoManager: OF_A_BUILD },
        withLatestCommit: OF_A_BUILD,
      },
    },
    prepare: prepareCreate,
    run: createClientDeployment,
    undo: undoCreate,
    triggers: 'alias-requests',
    queuesBuilds: true,
    emits: [...DEPLOYMENT_EVENTS, 'deployment.promoted', 'project.created'],
    refuses: [
      ...accountInGoodStanding.refuses,
      'not_found',
      'in_transfer',
      'invalid_project_name',
      'project_name_taken',
      'project_paused',
      'deployment_not_ready',
      'deployment_url_taken',
      'missing_project_settings',
      'missing_files',
      'not_built_here',
      'nothing_to_build',
      'builds_rate_limited',
      'output_refused',
      'budget_used_up',
    ],
    status: 200,
    reply: Deployment,
    replyHeaders: noticeHeaders,
  }),
  route({
    method: 'PATCH',
    path: '/v12/deployments/:id/cancel',
    operationId: 'cancelDeployment',
    summary: 'Cancel a deployment that has not ended',
    tag,
    needs: ['project:write', 'deployment:write'],
    load: findToCancel,
    guards: [notInTransfer],
    run: cancelDeployment,
    emits: ['deployment.canceled'],
    refuses: ['not_found', 'deployment_ended'],
    status: 200,
    reply: Deployment,
  }),
  route({
    method: 'GET',
    path: '/v6/deployments/:id/files',
    operationId: 'listDeploymentFiles',
    summary: 'List the static files and functions of a deployment as a tree',
    tag,
    needs: ['deployment:read'],
    load: findDeployment,
    run: listDeploymentFiles,
    refuses: ['not_found'],
    list: { rows: OUTPUT_LIMITS.files, rowBytes: 2 * 1024 },
    status: 200,
    reply: FileTree,
  }),
  route({
    method: 'GET',
    path: '/v8/deployments/:id/files/:fileId',
    operationId: 'getDeploymentFileContents',
    summary: 'Read a file of a deployment',
    tag,
    needs: ['deployment:read'],
    ignores: { query: { path: 'the id names the file' } },
    load: findDeployment,
    run: readDeploymentFile,
    refuses: ['not_found', 'payload_too_large'],
    status: 200,
    reply: FileContents,
  }),
]
