import { route } from '../../platform/http/route.ts'
import {
  CreatedUserToken,
  DeletedUserToken,
  NewUserToken,
  OneUserToken,
  UserTokenList,
  UserTokenQuery,
} from './schema.ts'
import { endToken } from './tokens.ts'
import { createUserToken, findUserToken, listUserTokens, notProjectLimitedToken, showUserToken } from './user-tokens.ts'

const tag = 'accounts'

export const tokenRoutes = [
  route({
    method: 'GET',
    path: '/v5/user/tokens',
    operationId: 'listAuthTokens',
    summary: 'List your tokens',
    tag,
    needs: ['token:read'],
    query: UserTokenQuery,
    guards: [notProjectLimitedToken],
    run: listUserTokens,
    list: { rows: 100, rowBytes: 64 * 1024 },
    status: 200,
    reply: UserTokenList,
  }),
  route({
    method: 'POST',
    path: '/v3/user/tokens',
    operationId: 'createAuthToken',
    summary: 'Create a token of the user, no wider than the calling token',
    tag,
    needs: ['token:write'],
    body: NewUserToken,
    namesIgnored: true,
    guards: [notProjectLimitedToken],
    run: createUserToken,
    refuses: ['budget_used_up', 'not_found'],
    status: 200,
    reply: CreatedUserToken,
    noStore: true,
  }),
  route({
    method: 'GET',
    path: '/v5/user/tokens/:id',
    operationId: 'getAuthToken',
    summary: 'Get a token of the user, or `current`: the calling token',
    tag,
    load: findUserToken('token:read'),
    run: showUserToken,
    refuses: ['missing_permission', 'not_found'],
    status: 200,
    reply: OneUserToken,
  }),
  route({
    method: 'DELETE',
    path: '/v3/user/tokens/:id',
    operationId: 'deleteAuthToken',
    summary: 'Revoke a token of the user, or `current`: the calling token',
    tag,
    load: findUserToken('token:write'),
    revokesAccess: true,
    run: async (ctx, token) => {
      await endToken(ctx, token)
      return { tokenId: token.id }
    },
    refuses: ['missing_permission', 'not_found'],
    status: 200,
    reply: DeletedUserToken,
  }),
]
