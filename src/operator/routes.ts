/** The operator API: what the platform around Berth knows and the public API cannot say. docs/spec/operator-api.md. */

import type { Static } from 'typebox'
import {
  MadePasswordLink,
  MadeToken,
  Member,
  NewTeam,
  NewToken,
  NewUser,
  OperatorAccount,
  OperatorTeam,
  OperatorUser,
  PatchAccount,
  PatchUser,
  SetMember,
} from '../accounts/schema.ts'
import type { Input, OperatorCtx } from '../context.ts'
import { operatorRoute } from '../http/route.ts'
import { findAccount } from '../model/account.ts'
import { createTeam, createUser, removeMember, setMember, updateAccount, updateUser } from '../people/accounts.ts'
import { refuse } from '../refusal.ts'
import { Type } from '../schema/builder.ts'
import { Moment } from '../schema/fields.ts'
import { makePasswordLink } from '../sign-in/password-link.ts'
import { runTimer, TIMERS, type TimerName } from '../timers.ts'
import { createToken, endToken, findToken } from '../tokens/tokens.ts'
import { AuditList, AuditQuery, listAudit } from './audit.ts'
import { Verified, VerifyQuery, verifyAudit } from './verify-audit.ts'

const tag = 'operator'
const RunTimer = Type.Object({ now: Type.Optional(Moment) })

export const operatorRoutes = [
  operatorRoute({
    method: 'POST',
    path: '/operator/v1/users',
    operationId: 'operatorCreateUser',
    summary: 'Create a user',
    tag,
    body: NewUser,
    run: createUser,
    refuses: ['slug_taken', 'email_taken'],
    status: 201,
    reply: OperatorUser,
  }),
  operatorRoute({
    method: 'PATCH',
    path: '/operator/v1/users/:userId',
    operationId: 'operatorUpdateUser',
    summary: "Change a user's email, username, name or default team; suspend them, or let them in again",
    tag,
    body: PatchUser,
    load: findAccount,
    run: updateUser,
    refuses: ['not_found', 'unknown_team', 'slug_taken', 'email_taken', 'too_many_slugs'],
    status: 200,
    reply: OperatorUser,
  }),
  operatorRoute({
    method: 'POST',
    path: '/operator/v1/users/:userId/password-link',
    operationId: 'operatorMakePasswordLink',
    summary: 'Make, mail and answer a link by which a user sets a password: once, within 24 hours',
    tag,
    load: findAccount,
    run: makePasswordLink,
    refuses: ['not_found'],
    status: 201,
    reply: MadePasswordLink,
    noStore: true,
  }),
  operatorRoute({
    method: 'POST',
    path: '/operator/v1/teams',
    operationId: 'operatorCreateTeam',
    summary: 'Create a team; its owner becomes OWNER',
    tag,
    body: NewTeam,
    run: createTeam,
    refuses: ['unknown_user', 'slug_taken'],
    status: 201,
    reply: OperatorTeam,
  }),
  operatorRoute({
    method: 'PUT',
    path: '/operator/v1/teams/:teamId/members/:userId',
    operationId: 'operatorSetMember',
    summary: 'Put a user into a team, or change the role',
    tag,
    body: SetMember,
    load: findAccount,
    run: setMember,
    refuses: ['not_found', 'unknown_user', 'last_owner'],
    status: 200,
    reply: Member,
  }),
  operatorRoute({
    method: 'DELETE',
    path: '/operator/v1/teams/:teamId/members/:userId',
    operationId: 'operatorRemoveMember',
    summary: 'Take a user out of a team',
    tag,
    load: findAccount,
    run: removeMember,
    refuses: ['not_found', 'last_owner'],
    status: 204,
  }),
  operatorRoute({
    method: 'PATCH',
    path: '/operator/v1/accounts/:accountId',
    operationId: 'operatorUpdateAccount',
    summary: 'Set what an account pays, has and owes',
    tag,
    body: PatchAccount,
    load: findAccount,
    run: updateAccount,
    refuses: ['not_found'],
    status: 200,
    reply: OperatorAccount,
  }),
  operatorRoute({
    method: 'POST',
    path: '/operator/v1/tokens',
    operationId: 'operatorCreateToken',
    summary: 'Make a token for a user',
    tag,
    body: NewToken,
    run: createToken,
    refuses: ['unknown_user', 'user_suspended', 'unknown_team'],
    status: 201,
    reply: MadeToken,
  }),
  operatorRoute({
    method: 'DELETE',
    path: '/operator/v1/tokens/:id',
    operationId: 'operatorDeleteToken',
    summary: 'End a token',
    tag,
    load: findToken,
    run: endToken,
    refuses: ['not_found'],
    status: 204,
  }),
  operatorRoute({
    method: 'GET',
    path: '/operator/v1/audit',
    operationId: 'operatorListAudit',
    summary: 'Read the audit log',
    tag,
    query: AuditQuery,
    run: listAudit,
    list: { rows: 100, rowBytes: 16 * 1024 },
    status: 200,
    reply: AuditList,
  }),
  operatorRoute({
    method: 'GET',
    path: '/operator/v1/audit/verify',
    operationId: 'operatorVerifyAudit',
    summary: 'Walk the hash chain of the audit log; `head`: what an earlier call gave, so that a cut-off end is seen',
    tag,
    query: VerifyQuery,
    run: verifyAudit,
    status: 200,
    reply: Verified,
  }),
  operatorRoute({
    method: 'POST',
    path: '/operator/v1/timers/:name/run',
    operationId: 'operatorRunTimer',
    summary: 'Run one sweep now, optionally as if it were another moment (where BERTH_TEST_CLOCK=1)',
    tag,
    body: RunTimer,
    prepare: sweepNow,
    run: (_ctx, _subject, _input, swept) => ({ swept }),
    refuses: ['not_found', 'test_clock_off'],
    status: 200,
    reply: Type.Object({ swept: Type.Integer() }),
  }),
]

/** A sweep has transactions of its own, so it runs before this request's. Refuses: not_found 404, test_clock_off 403. */
async function sweepNow(
  ctx: OperatorCtx,
  _: undefined,
  { params, body }: Input<unknown, Static<typeof RunTimer>>,
): Promise<number> {
  const name = params.name ?? ''
  if (!Object.hasOwn(TIMERS, name))
    refuse('not_found', `No timer "${name}"; there are ${Object.keys(TIMERS).join(', ')}.`)
  if (body.now !== undefined && !ctx.deps.config.testClock) refuse('test_clock_off')
  return runTimer(ctx.deps, name as TimerName, body.now ?? ctx.now)
}
