/** Transfer of a project to another account: code, acceptance, lock, move. docs/spec/decisions.md: Transfer; docs/transfer.md. */
import assert from 'node:assert/strict'
import { refusalsOf } from '../../../src/platform/http/route.ts'
import { ON_PROJECT, sampleRequest, seedSamples } from '../../support/sample-requests.ts'
import { removeAccount } from '../../support/states.ts'
import { digest } from '../../support/stores/digest.ts'
import { type ApiResponse, onBothEngines } from '../../support/world.ts'
import { readEvents, seedTransferAccounts } from '../../support/worlds/transfer-world.ts'

function refused(answer: ApiResponse, status: number, code: string): void {
  assert.deepEqual([answer.status, answer.body?.error.code], [status, code], answer.text)
}

onBothEngines(
  'a code transfers a project: locked at once, moved by the sweep, with events for both accounts',
  async (world) => {
    const { giver, taker, projectId, offer, take, sweep } = await seedTransferAccounts(world)
    await giver.call('PATCH', '/v9/projects/web', { framework: 'nextjs' })
    const variable = { key: 'TOKEN', value: 'hunter2', type: 'encrypted', target: ['production'] }
    const { id: envId } = (await giver.call('POST', '/v10/projects/web/env', variable)).body.created
    const code = await offer()
    const taken = await take(code)
    assert.deepEqual([taken.status, taken.body], [202, {}])

    const during = (await giver.call('GET', '/v9/projects/web')).body
    assert.equal(during.transferToAccountId, taker.id)
    assert.equal(typeof during.transferStartedAt, 'number')
    assert.equal('transferCompletedAt' in during, false)
    assert.equal((await taker.call.try('GET', `/v9/projects/${projectId}`)).status, 404)

    assert.equal(await sweep(), 1)
    assert.equal(await sweep(), 0)
    for (const said of [projectId, 'web'])
      refused(await giver.call.try('GET', `/v9/projects/${said}`), 404, 'not_found')
    const after = (await taker.call('GET', '/v9/projects/web')).body
    assert.deepEqual(
      [after.id, after.accountId, after.framework, after.transferredFromAccountId, after.transferToAccountId],
      [projectId, taker.id, 'nextjs', giver.id, undefined],
    )
    assert.ok(after.transferCompletedAt >= after.transferStartedAt)
    assert.equal((await taker.call('GET', `/v1/projects/web/env/${envId}`)).body.value, 'hunter2')
    assert.equal((await taker.call('PATCH', '/v9/projects/web', { framework: null })).status, 200)
    assert.equal((await giver.call('POST', '/v10/projects', { name: 'web' })).status, 200, 'the name is free again')

    const told = await readEvents(world, /^project\.transfer\./)
    const project = { id: projectId, name: 'web' }
    const [from, to] = [giver.id, taker.id]
    const expected = ['started', 'completed'].flatMap((step) =>
      [from, to].map((id) => [`project.transfer.${step}`, id]),
    )
    assert.deepEqual(
      told.map(({ type, to: id }) => [type, id]),
      expected,
    )
    for (const { payload } of told) {
      assert.deepEqual([payload.project, payload.fromAccountId, payload.toAccountId], [project, from, to])
    }
  },
)

onBothEngines(
  'a code works once, for a day, and only the newest one; every other code gets the same 404',
  async (world) => {
    const { offer, take, sweep, taker, giver } = await seedTransferAccounts(world)
    const first = await offer()
    const second = await offer()
    const answers = [await take(first), await take('unknown'), await take('x'.repeat(300))]
    const now = Date.now()
    world.deps.clock.set(now + 24 * 3_600_000 + 5000)
    answers.push(await take(second))
    world.deps.clock.set(undefined)
    assert.equal((await take(second)).status, 202)
    answers.push(await take(second))
    refused(await giver.call.try('POST', '/projects/web/transfer-request'), 409, 'conflict')
    await sweep()
    answers.push(await take(second))
    for (const answer of answers) refused(answer, 404, 'not_found')
    assert.equal(new Set(answers.map((answer) => answer.text)).size, 1)
    // The code is kept as a hash, and not in the audit log.
    const audit = await world.deps.db.read.selectFrom('audit').selectAll().execute()
    assert.equal(JSON.stringify(audit).includes(second), false)
    refused(
      await taker.call.try('POST', '/projects/web/transfer-request', { callbackUrl: 'https://x.example' }),
      400,
      'bad_request',
    )
  },
)

onBothEngines('an unused code is purged after its day, a used one is not', async (world) => {
  const { offer, take } = await seedTransferAccounts(world)
  const rows = async () => (await world.deps.db.read.selectFrom('transfer_request').selectAll().execute()).length
  const forget = (now: number) => world.operator('POST', '/operator/v1/timers/old-transfer-codes/run', { now })
  await offer()
  await forget(Date.now())
  assert.equal(await rows(), 1)
  await forget(Date.now() + 86_500_000)
  assert.equal(await rows(), 0)
  await take(await offer())
  await forget(Date.now() + 86_500_000)
  assert.equal(await rows(), 1)
})

onBothEngines(
  'a name that is taken, an own project and a bad name are refused, and the code stays good',
  async (world) => {
    const { giver, taker, projectId, offer, take, sweep } = await seedTransferAccounts(world)
    await taker.call('POST', '/v10/projects', { name: 'web' })
    const code = await offer()
    refused(await take(code), 409, 'conflict')
    refused(await take(code, { newProjectName: 'Not A Name' }), 400, 'invalid_project_name')
    refused(await giver.call.try('PUT', `/projects/transfer-request/${code}`, {}), 400, 'bad_request')
    await world.operator('PATCH', `/operator/v1/accounts/${taker.id}`, { softBlocked: true })
    refused(await take(code), 402, 'account_soft_blocked')
    await world.operator('PATCH', `/operator/v1/accounts/${taker.id}`, { softBlocked: false })
    assert.equal((await take(code, { newProjectName: 'web-two' })).status, 202)
    await sweep()
    assert.equal((await taker.call('GET', '/v9/projects/web-two')).body.id, projectId)
    const [, , toGiver, toTaker] = await readEvents(world, /^project\.transfer\./)
    assert.deepEqual([toGiver!.payload.project.name, toTaker!.payload.project.name], ['web', 'web-two'])
    refused(await giver.call.try('POST', '/v10/projects', { name: 'transfer-request' }), 400, 'invalid_project_name')
  },
)

onBothEngines(
  'giving a project away needs the right to read and remove all of it; taking it needs the right to create one',
  async (world) => {
    const { teamId } = world.credentials
    await world.call('POST', `/v10/projects?teamId=${teamId}`, { name: 'team-web' })
    const offers: Record<string, number> = { OWNER: 200, MEMBER: 200, DEVELOPER: 403, VIEWER: 403, BILLING: 403 }
    const takes: Record<string, number> = { OWNER: 202, MEMBER: 202, DEVELOPER: 202, VIEWER: 403, BILLING: 403 }
    for (const role of Object.keys(offers)) {
      const user = await world.user(role.toLowerCase())
      await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${user.id}`, { role })
      const asked = await user.call.try('POST', `/projects/team-web/transfer-request?teamId=${teamId}`)
      assert.equal(asked.status, offers[role], role)
      await world.call('POST', '/v10/projects', { name: role.toLowerCase() })
      const { code } = (await world.call('POST', `/projects/${role.toLowerCase()}/transfer-request`)).body
      const taken = await user.call.try('PUT', `/projects/transfer-request/${code}?teamId=${teamId}`)
      assert.equal(taken.status, takes[role], role)
    }
    const narrow = await world.token({
      scopes: ['read-write:project', 'read-write:domain', 'read-write:project-env-vars'],
    })
    await world.call('POST', '/v10/projects', { name: 'kept' })
    refused(await narrow.try('POST', '/projects/kept/transfer-request'), 403, 'forbidden')
    const { code } = (await world.call('POST', '/projects/kept/transfer-request')).body
    const other = await world.user('other')
    const limited = { userId: other.id, projectIds: ['prj_some'] }
    const { token } = (await world.operator('POST', '/operator/v1/tokens', limited)).body
    refused(await world.as(token).try('PUT', `/projects/transfer-request/${code}`), 403, 'forbidden')
  },
)

onBothEngines('a code expires when its creator loses the permission to transfer', async (world) => {
  const { teamId } = world.credentials
  const { taker } = await seedTransferAccounts(world)
  const member = await world.user('member')
  const path = `/operator/v1/teams/${teamId}/members/${member.id}`
  await world.operator('PUT', path, { role: 'MEMBER' })
  await world.call('POST', `/v10/projects?teamId=${teamId}`, { name: 'team-web' })
  const { code } = (await member.call('POST', `/projects/team-web/transfer-request?teamId=${teamId}`)).body
  const take = () => taker.call.try('PUT', `/projects/transfer-request/${code}`)
  await world.operator('PUT', path, { role: 'DEVELOPER' })
  refused(await take(), 404, 'not_found')
  await world.operator('DELETE', path)
  refused(await take(), 404, 'not_found')
  await world.operator('PUT', path, { role: 'OWNER' })
  assert.equal((await take()).status, 202)
})

/** Specification: Project transfer, and the 409 rows of Errors. */
const LOCKED = [
  'updateProject deleteProject addProjectDomain updateProjectDomain removeProjectDomain',
  'createProjectEnv editProjectEnv removeProjectEnv',
].flatMap((line) => line.split(' '))

onBothEngines(
  'while it runs every operation that changes the project answers 409 and changes nothing',
  async (world) => {
    const samples = await seedSamples(world)
    const { code } = (await world.call('POST', '/projects/web/transfer-request')).body
    assert.equal((await samples.rival.call('PUT', `/projects/transfer-request/${code}`)).status, 202)
    const before = await digest(world)
    const locked = ON_PROJECT.filter((route) => refusalsOf(route).includes('in_transfer'))
    for (const operationId of LOCKED)
      assert.ok(
        locked.some((route) => route.operationId === operationId),
        operationId,
      )
    for (const route of locked) {
      const { method, url, body } = sampleRequest(route, samples)
      refused(await world.call.try(method, url, body), 409, 'conflict')
    }
    assert.equal(await digest(world), before)
  },
)

onBothEngines('of many simultaneous uses of one code one takes the project, and it is moved once', async (world) => {
  const { offer, sweep } = await seedTransferAccounts(world)
  const users = await Promise.all(Array.from({ length: 12 }, (_, at) => world.user(`u${at}`)))
  const code = await offer()
  const answers = await Promise.all(users.map((user) => user.call.try('PUT', `/projects/transfer-request/${code}`)))
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [202, ...Array(11).fill(404)])
  const swept = await Promise.all([sweep(), sweep(), sweep()])
  assert.equal(
    swept.reduce((sum, one) => sum + one),
    1,
  )
  const winner = users[answers.findIndex((answer) => answer.status === 202)]!
  assert.equal((await winner.call('GET', '/v9/projects/web')).status, 200)
})

onBothEngines(
  'a receiving account that is gone, or has the name since, leaves the project where it was, unlocked',
  async (world) => {
    const { giver, taker, projectId, offer, take, sweep } = await seedTransferAccounts(world)
    await take(await offer())
    await taker.call('POST', '/v10/projects', { name: 'web' })
    await sweep()
    const still = (await giver.call('GET', '/v9/projects/web')).body
    assert.deepEqual([still.id, still.transferStartedAt, still.transferToAccountId], [projectId, undefined, undefined])
    assert.equal((await giver.call('PATCH', '/v9/projects/web', { framework: 'nextjs' })).status, 200)

    await take(await offer(), { newProjectName: 'gone' })
    await removeAccount(world, taker.id)
    await sweep()
    assert.equal((await giver.call('GET', '/v9/projects/web')).body.accountId, giver.id)
    const failed = await readEvents(world, /^project\.transfer\.failed/)
    assert.deepEqual(
      failed.map(({ to, payload }) => [to, payload.reason]),
      [
        [giver.id, 'name_taken'],
        [taker.id, 'name_taken'],
        [giver.id, 'account_gone'],
      ],
    )
  },
)

onBothEngines('deleting a project deletes its code; a received project can be transferred again', async (world) => {
  const { giver, taker, projectId, offer, take, sweep } = await seedTransferAccounts(world)
  await take(await offer())
  await sweep()
  const { code } = (await taker.call('POST', '/projects/web/transfer-request')).body
  assert.equal((await giver.call('PUT', `/projects/transfer-request/${code}`)).status, 202)
  await sweep()
  const back = (await giver.call('GET', '/v9/projects/web')).body
  assert.deepEqual([back.id, back.transferredFromAccountId], [projectId, taker.id])
  const last = await offer()
  await giver.call('DELETE', '/v9/projects/web')
  refused(await take(last), 404, 'not_found')
  assert.deepEqual(await world.deps.db.read.selectFrom('transfer_request').selectAll().execute(), [])
})
