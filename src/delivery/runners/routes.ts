import { operatorRoute } from '../../platform/http/route.ts'
import { findRunner, listRunners, PatchRunner, Runner, RunnerList, removeRunner, updateRunner } from './operator.ts'
import { MAX_RUNNERS } from './registry.ts'

const tag = 'operator'

export const runnerRoutes = [
  operatorRoute({
    method: 'GET',
    path: '/operator/v1/runners',
    operationId: 'operatorListRunners',
    summary: 'List the runners: what each builds, and when it last sent a request',
    tag,
    run: listRunners,
    list: { rows: MAX_RUNNERS, rowBytes: 4 * 1024 },
    status: 200,
    reply: RunnerList,
  }),
  operatorRoute({
    method: 'PATCH',
    path: '/operator/v1/runners/:runner',
    operationId: 'operatorUpdateRunner',
    summary: 'Drain a runner, so that it gets no further build, or resume it',
    tag,
    body: PatchRunner,
    load: findRunner,
    run: updateRunner,
    refuses: ['not_found'],
    status: 200,
    reply: Runner,
  }),
  operatorRoute({
    method: 'DELETE',
    path: '/operator/v1/runners/:runner',
    operationId: 'operatorDeleteRunner',
    summary: 'Remove a runner: its builds go back to the queue, and it gets no others',
    tag,
    load: findRunner,
    run: removeRunner,
    triggers: 'lost-builds',
    refuses: ['not_found'],
    status: 204,
  }),
]
