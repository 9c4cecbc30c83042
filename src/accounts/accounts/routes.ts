import { notLimitedToProjects } from '../../platform/access/guards.ts'
import { route } from '../../platform/http/route.ts'
import { ActivityList, ActivityQuery, listActivity } from './activity.ts'
import { Team, TeamList, TeamsQuery, User } from './schema.ts'
import { findTeamOrPersonalAccount, listTeams, showTeam, showUser } from './teams.ts'
import { listUserEvents, UserEventList, UserEventsQuery } from './user-events.ts'

const tag = 'accounts'

export const accountRoutes = [
  route({
    method: 'GET',
    path: '/v2/user',
    operationId: 'getAuthUser',
    summary: 'Get the user behind the token',
    tag,
    needs: ['user:read'],
    run: showUser,
    status: 200,
    reply: User,
  }),
  route({
    method: 'GET',
    path: '/v2/teams',
    operationId: 'getTeams',
    summary: 'List the teams of the user behind the token',
    tag,
    needs: ['team:read'],
    query: TeamsQuery,
    run: listTeams,
    list: { rows: 100, rowBytes: 4 * 1024 },
    status: 200,
    reply: TeamList,
  }),
  route({
    method: 'GET',
    path: '/v2/teams/:idOrSlug',
    operationId: 'getTeam',
    summary: 'Get a team of the user behind the token',
    tag,
    needs: ['team:read'],
    load: findTeamOrPersonalAccount,
    run: (_ctx, team) => showTeam(team),
    refuses: ['not_found'],
    status: 200,
    reply: Team,
  }),
  route({
    method: 'GET',
    path: '/v1/activity',
    operationId: 'getActivity',
    summary: 'List the changes in the account',
    tag,
    // A reader of everything on the account can also read its changes. No scope grants `integration:read`.
    needs: ['project:read', 'env:all', 'integration:read', 'team:read'],
    query: ActivityQuery,
    guards: [notLimitedToProjects],
    run: listActivity,
    list: { rows: 100, rowBytes: 32 * 1024 },
    status: 200,
    reply: ActivityList,
  }),
  route({
    method: 'GET',
    path: '/v3/events',
    operationId: 'listUserEvents',
    summary: 'List the changes in the account as events',
    tag,
    needs: ['project:read', 'env:all', 'integration:read', 'team:read'],
    query: UserEventsQuery,
    guards: [notLimitedToProjects],
    run: listUserEvents,
    list: { rows: 101, rowBytes: 32 * 1024 },
    status: 200,
    reply: UserEventList,
  }),
]
