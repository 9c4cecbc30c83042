import { findAccount } from '../../model/account.ts'
import { operatorRoute } from '../../platform/http/route.ts'
import { deleteGitCredential, GitCredential, SetGitCredential, setGitCredential } from './credentials.ts'

export const gitCredentialRoutes = [
  operatorRoute({
    method: 'PUT',
    path: '/operator/v1/accounts/:accountId/git-credentials/:provider',
    operationId: 'operatorSetGitCredential',
    summary: 'Set the credential of an account for GitLab or Bitbucket',
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
    summary: 'Remove the credential of an account for GitLab or Bitbucket',
    tag: 'operator',
    load: findAccount,
    run: deleteGitCredential,
    refuses: ['not_found'],
    status: 204,
  }),
]
