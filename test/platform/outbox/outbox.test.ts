/** What a write adds in its own transaction: its events and its audit entry. A refused write adds nothing. */
import assert from 'node:assert/strict'
import { digest } from '../../support/stores/digest.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { seedInstallation } from '../../support/worlds/integration-world.ts'

async function events({ deps }: World) {
  const rows = await deps.db.read.selectFrom('event').selectAll().orderBy('stamp').execute()
  return rows.map((row) => ({ ...row, payload: JSON.parse(row.payload_json) }))
}

async function audits({ deps }: World) {
  return deps.db.read.selectFrom('audit').selectAll().orderBy('stamp').execute()
}

onBothEngines(
  'create, rename and delete write one event each, which names the user, the team and the project',
  async (world) => {
    const { call, credentials } = world
    const { userId, teamId } = credentials
    for (const [query, team, account] of [
      ['', null, userId],
      [`?teamId=${teamId}`, teamId, teamId],
    ] as const) {
      const { id } = (await call('POST', `/v10/projects${query}`, { name: 'web' })).body
      await call('PATCH', `/v9/projects/web${query}`, { devCommand: 'run' })
      await call('PATCH', `/v9/projects/web${query}`, { name: 'web' })
      await call('PATCH', `/v9/projects/web${query}`, { name: 'site' })
      await call('POST', `/v1/projects/site/pause${query}`)
      await call('DELETE', `/v9/projects/site${query}`)
      const told = (await events(world)).filter((event) => event.account_id === account)
      const by = { team: { id: team }, user: { id: userId } }
      assert.deepEqual(
        told.map(({ type, payload, project_id }) => ({ type, payload, project_id })),
        [
          { type: 'project.created', payload: { ...by, project: { id, name: 'web' } }, project_id: id },
          {
            type: 'project.renamed',
            payload: { ...by, project: { id, name: 'site' }, previousName: 'web' },
            project_id: id,
          },
          { type: 'project.removed', payload: { ...by, project: { id, name: 'site' } }, project_id: id },
        ],
      )
      for (const event of told) assert.match(event.id, /^evt_[0-9A-Za-z]{28}$/)
    }
  },
)

onBothEngines('an event of what an installation did names no user', async (world) => {
  const { call } = await seedInstallation(world)
  await call('POST', `/v10/projects?teamId=${world.credentials.teamId}`, { name: 'web' })
  const [made] = (await events(world)).filter(({ type }) => type === 'project.created')
  assert.deepEqual(made!.payload.user, { id: null })
})

onBothEngines('of 20 creates and 20 renames at the same time, one each writes an event', async (world) => {
  const { call } = world
  const ofAll = (asked: Promise<{ status: number }>[]) =>
    Promise.all(asked).then((answers) => answers.map(({ status }) => status).sort())
  const created = Array.from({ length: 20 }, () => call.try('POST', '/v10/projects', { name: 'web' }))
  assert.deepEqual(await ofAll(created), [200, ...Array(19).fill(409)])
  const renamed = Array.from({ length: 20 }, () => call.try('PATCH', '/v9/projects/web', { name: 'site' }))
  // The name of the path is gone with the first.
  assert.deepEqual(await ofAll(renamed), [200, ...Array(19).fill(404)])
  assert.deepEqual(
    (await events(world)).map((event) => event.type),
    ['project.created', 'project.renamed'],
  )
  assert.equal((await audits(world)).filter((line) => line.type === 'createProject').length, 1)
})

onBothEngines('a refused write adds no row to any table', async (world) => {
  const { call, operator, credentials } = world
  await call('POST', '/v10/projects', { name: 'web' })
  await call('POST', '/v10/projects', { name: 'two' })
  const before = await digest(world)
  const refused = [
    await call.try('POST', '/v10/projects', { name: 'web' }),
    await call.try('POST', '/v10/projects', { name: 'Web' }),
    await call.try('POST', '/v10/projects', { name: 'new', gitRepository: { type: 'gitlab', repo: 'a/b' } }),
    await call.try('PATCH', '/v9/projects/two', { name: 'web', devCommand: 'x' }),
    await call.try('PATCH', '/v9/projects/two', {
      trustedIps: { deploymentType: 'all', addresses: [{ value: 'x' }], protectionMode: 'additional' },
    }),
    await call.try('PATCH', '/v9/projects/none', { devCommand: 'x' }),
    await call.try('DELETE', '/v9/projects/none'),
    await call.try('POST', '/v1/projects/none/pause'),
    await operator.try('POST', '/operator/v1/users', { email: 'a@b', username: 'admin' }),
    await operator.try('POST', '/operator/v1/users', { email: 'Admin@Berth.localhost', username: 'new' }),
    await operator.try('POST', '/operator/v1/teams', { slug: 'new', name: 'N', ownerId: 'usr_none' }),
    await operator.try('PUT', `/operator/v1/teams/${credentials.teamId}/members/usr_none`, { role: 'OWNER' }),
    await operator.try('DELETE', '/operator/v1/tokens/tok_none'),
  ]
  for (const answer of refused) assert.ok(answer.status >= 400 && answer.status < 500, answer.text)
  assert.equal(await digest(world), before)
})

onBothEngines(
  'every write has one audit entry: who, with which token, which operation, on which id, which fields',
  async (world) => {
    const { call, operator, credentials, deps } = world
    const { userId } = credentials
    const { id } = (await call('POST', '/v10/projects', { name: 'web', devCommand: 'secret-value', unknown: 1 })).body
    await call('PATCH', '/v9/projects/web', { buildCommand: 'secret-value', framework: null })
    await call('POST', '/v1/projects/web/pause')
    await call('PATCH', '/v1/data-cache/projects/web', { disabled: true })
    await call('GET', '/v9/projects/web')
    await call('DELETE', '/v9/projects/web')
    const made = (await operator('POST', '/operator/v1/tokens', { userId })).body
    await operator('DELETE', `/operator/v1/tokens/${made.id}`)
    const { id: tokenId } = await deps.db.read.selectFrom('token').select('id').executeTakeFirstOrThrow()
    const lines = await audits(world)
    assert.deepEqual(
      lines.map((line) => [line.type, line.actor_kind, line.actor_id, line.token_id, line.account_id, line.subject_id]),
      [
        ...['createProject', 'updateProject', 'pauseProject', 'updateProjectDataCache', 'deleteProject'].map((type) => [
          ...[type, 'user', userId, tokenId, userId, id],
        ]),
        ...['operatorCreateToken', 'operatorDeleteToken'].map((type) => [
          type,
          'operator',
          'operator',
          null,
          null,
          made.id,
        ]),
      ],
    )
    assert.deepEqual(JSON.parse(lines[0]!.fields_json).sort(), ['devCommand', 'name'])
    assert.deepEqual(JSON.parse(lines[1]!.fields_json).sort(), ['buildCommand', 'framework'])
    const text = JSON.stringify(lines)
    for (const secret of ['secret-value', made.token, credentials.token]) assert.equal(text.includes(secret), false)
  },
)

onBothEngines('the operator reads the audit log newest first, filtered and page by page', async (world) => {
  const { call, operator, credentials } = world
  for (const name of ['a', 'b', 'c', 'd', 'e']) await call('POST', '/v10/projects', { name })
  await call('DELETE', '/v9/projects/a')
  const read = async (query: string) => (await operator('GET', `/operator/v1/audit?${query}`)).body
  const all = await read('limit=100')
  assert.equal(all.entries[0].type, 'deleteProject')
  assert.deepEqual(all.pagination, { count: 6, next: null, prev: null })
  const seen = []
  for (let until = ''; ; ) {
    const { entries, pagination } = await read(`limit=2${until}`)
    seen.push(...entries)
    if (pagination.next === null) break
    until = `&until=${pagination.next}`
  }
  assert.deepEqual(seen, all.entries)
  assert.equal((await read('type=createProject')).entries.length, 5)
  assert.equal((await read(`actorId=${credentials.userId}&type=deleteProject`)).entries.length, 1)
  assert.equal((await read(`accountId=${credentials.teamId}`)).entries.length, 0)
  assert.equal((await operator.try('GET', '/operator/v1/audit?limit=0')).status, 400)
})
