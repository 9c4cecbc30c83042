import { notInTransferItself } from '../access/guards.ts'
import { findAccount } from '../accounts/accounts.ts'
import { operatorRoute, route } from '../http/route.ts'
import { GitRepository, SetBranch } from '../model/link.ts'
import { findProject } from '../model/project.ts'
import { Project } from '../projects/schema.ts'
import { deleteGitCredential, GitCredential, SetGitCredential, setGitCredential } from './credentials.ts'
import {
  CONNECT_REFUSALS,
  connectProject,
  disconnectAgain,
  linkProject,
  removeWebhook,
  setProductionBranch,
  unlinkProject,
} from './link.ts'

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
    guards: [notInTransferItself],
    prepare: connectProject,
    run: linkProject,
    undo: disconnectAgain,
    refuses: ['not_found', 'already_linked', 'production_branch', ...CONNECT_REFUSALS],
    status: 200,
    reply: Project,
  }),
  route({
    method: 'DELETE',
    path: '/v9/projects/:idOrName/link',
    operationId: 'unlinkProject',
    summary: 'End the link of a project to its repository',
    tag,
    needs: ['project:write'],
    load: findProject,
    guards: [notInTransferItself],
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
    summary: 'Say which branch of the repository is production',
    tag,
    needs: ['project:write'],
    body: SetBranch,
    load: findProject,
    guards: [notInTransferItself],
    run: setProductionBranch,
    refuses: ['not_found', 'not_linked', 'production_branch'],
    status: 200,
    reply: Project,
  }),
  operatorRoute({
    method: 'PUT',
    path: '/operator/v1/accounts/:accountId/git-credentials/:provider',
    operationId: 'operatorSetGitCredential',
    summary: 'Set how an account speaks to GitLab or Bitbucket',
    tag: 'operator',
    body: SetGitCredential,
    load: findAccount,
    run: setGitCredential,
    refuses: ['not_found'],
    status: 200,
    reply: GitCredential,
  }),
  operatorRoute({
    method: 'DELETE',
    path: '/operator/v1/accounts/:accountId/git-credentials/:provider',
    operationId: 'operatorDeleteGitCredential',
    summary: 'Remove how an account speaks to GitLab or Bitbucket',
    tag: 'operator',
    load: findAccount,
    run: deleteGitCredential,
    refuses: ['not_found'],
    status: 204,
  }),
]
