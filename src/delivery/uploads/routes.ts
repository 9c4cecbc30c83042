import { accountInGoodStanding } from '../../platform/access/guards.ts'
import { route } from '../../platform/http/route.ts'
import { countRefused, MAX_FILE_BYTES, readUpload, UPLOAD_HEADERS, Uploaded, uploadFile } from './upload.ts'

export const uploadRoutes = [
  route({
    method: 'POST',
    path: '/v2/files',
    operationId: 'uploadFile',
    summary: 'Upload a file that a deployment will have',
    tag: 'deployments',
    // Same as for creating a deployment.
    needs: ['project:write', 'deployment:write'],
    bodyLimit: MAX_FILE_BYTES,
    fileBody: UPLOAD_HEADERS,
    guards: [accountInGoodStanding],
    prepare: readUpload,
    run: uploadFile,
    undo: countRefused,
    refuses: ['budget_used_up', 'request_timeout'],
    // Clients treat 201 as a failure.
    status: 200,
    reply: Uploaded,
  }),
]
