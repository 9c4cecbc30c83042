import { GitRepository, SetBranch } from '../../model/link.ts'
import { findProject } from '../../model/project.ts'
import { notInTransferUnlocked } from '../../platform/access/guards.ts'
import { route } from '../../platform/http/route.ts'
import { CONNECT_REFUSALS, removeWebhook, undoConnect } from '../links/connect.ts'
import { connectProject, linkProject, setProductionBranch, unlinkProject } from './link.ts'
import { Project } from './schema.ts'

const tag = 'git links'

export const linkRoutes = [
  route({
    method: 'POST',
    path: '/v9/projects/:idOrName/link',
    operationId: 'linkProject',
    summary: 'Link a project to a repository',
    tag,
    needs: ['project:write'],
    body: GitRepository,
    load: findProject,
    guards: [notInTransferUnlocked],
    prepare: connectProject,
    run: linkProject,
    undo: undoConnect,
    refuses: ['not_found', 'already_linked', 'production_branch', ...CONNECT_REFUSALS],
    status: 200,
    reply: Project,
  }),
  route({
    method: 'DELETE',
    path: '/v9/projects/:idOrName/link',
    operationId: 'unlinkProject',
    summary: 'Unlink a project from its repository',
    tag,
    needs: ['project:write'],
    load: findProject,
    guards: [notInTransferUnlocked],
    prepare: removeWebhook,
    run: unlinkProject,
    refuses: ['not_found'],
    status: 200,
    reply: Project,
  }),
  route({
    method: 'PATCH',
    path: '/v9/projects/:idOrName/branch',
    operationId: 'updateProjectBranch',
    summary: 'Set the production branch of a linked project',
    tag,
    needs: ['project:write'],
    body: SetBranch,
    load: findProject,
    guards: [notInTransferUnlocked],
    run: setProductionBranch,
    refuses: ['not_found', 'not_linked', 'production_branch'],
    status: 200,
    reply: Project,
  }),
]
