import { findProject } from '../../model/project.ts'
import { accountInGoodStanding, notInTransferUnlocked } from '../../platform/access/guards.ts'
import { route } from '../../platform/http/route.ts'
import { Type } from '../../platform/schema/builder.ts'
import {
  AcceptTransfer,
  acceptTransfer,
  findOffer,
  RequestTransfer,
  requestTransfer,
  TransferCode,
} from './transfer.ts'

const tag = 'transfer'

export const transferRoutes = [
  route({
    method: 'POST',
    path: '/projects/:idOrName/transfer-request',
    operationId: 'createProjectTransferRequest',
    summary: 'Create the code for another account to accept a project',
    tag,
    needs: ['project:transfer'],
    body: RequestTransfer,
    load: findProject,
    guards: [notInTransferUnlocked],
    run: requestTransfer,
    refuses: ['not_found', 'callback_not_supported'],
    status: 200,
    reply: TransferCode,
    noStore: true,
  }),
  route({
    method: 'PUT',
    path: '/projects/transfer-request/:code',
    operationId: 'acceptProjectTransferRequest',
    summary: 'Accept a project into this account',
    tag,
    needs: ['project:write', 'project:receive'],
    body: AcceptTransfer,
    ignores: {
      body: {
        paidFeatures: 'projects have no paid features; the plan is checked at each use',
        acceptedPolicies: 'Berth has no policies that a user accepts',
      },
    },
    load: findOffer,
    guards: [accountInGoodStanding],
    run: acceptTransfer,
    emits: ['project.transfer.started'],
    refuses: [
      'budget_used_up',
      'not_found',
      'missing_permission',
      'transfer_to_same_account',
      'invalid_project_name',
      'project_name_taken',
      'in_transfer',
    ],
    triggers: 'project-transfers',
    status: 202,
    reply: Type.Object({}),
  }),
]
