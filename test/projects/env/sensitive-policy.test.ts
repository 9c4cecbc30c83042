/** A team makes new values of production and preview write-only: what each kind of write makes of the type. docs/accounts.md: Team settings. */
import assert from 'node:assert/strict'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines, type World } from '../../support/world.ts'

/** A project of the team with an environment `qa`, and what reads and changes its variables. */
async function open(world: World) {
  const { teamId } = world.credentials
  const query = `?teamId=${teamId}` as const
  const projectId = await seedProject(world, 'web', query)
  const environments = `/v9/projects/web/custom-environments${query}` as const
  const qa = (await world.call('POST', environments, { slug: 'qa' })).body.id
  const add = async (key: string, target = 'preview') => {
    const body = { key, value: 'first', type: 'encrypted', target: [target] }
    return (await world.call('POST', `/v10/projects/web/env${query}`, body)).body.created.id
  }
  const policy = (sensitiveEnvironmentVariablePolicy: 'on' | 'off') =>
    world.call('PATCH', `/v2/teams/${teamId}`, { sensitiveEnvironmentVariablePolicy })
  return { projectId, query, environments, qa, add, policy }
}

onBothEngines(
  'an edit of value, type or environments makes an older variable write-only, others do not',
  async (world) => {
    const { query, qa, add, policy } = await open(world)
    const edits = [
      [{ comment: 'why' }, 'encrypted'],
      [{ key: 'RENAMED' }, 'encrypted'],
      [{ gitBranch: 'next' }, 'encrypted'],
      [{ target: ['development'] }, 'encrypted'],
      [{ value: 'second' }, 'sensitive'],
      [{ value: 'first' }, 'sensitive'],
      [{ type: 'plain' }, 'sensitive'],
      [{ target: ['production'] }, 'sensitive'],
      [{ customEnvironmentIds: [qa] }, 'sensitive'],
      [{ customEnvironmentId: qa }, 'sensitive'],
    ] as const
    const ids = await Promise.all(edits.map((_, at) => add(`KEY_${at}`)))
    await policy('on')
    const types = []
    for (const [at, [body]] of edits.entries())
      types.push([body, (await world.call('PATCH', `/v9/projects/web/env/${ids[at]!}${query}`, body)).body.type])
    assert.deepEqual(types, edits)
  },
)

onBothEngines('a restore, a copy, an import and an upsert make older variables write-only', async (world) => {
  const { projectId, query, environments, add, policy } = await open(world)
  const [kept] = [await add('KEPT'), await add('FILE', 'production'), await add('UPSERTED', 'production')]
  await add('LOCAL', 'development')
  await world.call('PATCH', `/v9/projects/web/env/${kept}${query}`, { value: 'second' })
  await policy('on')
  const copied = { slug: 'copied', copyEnvVarsFrom: 'preview' }
  const { id: copy } = (await world.call('POST', environments, copied)).body
  const local = { slug: 'local', copyEnvVarsFrom: 'development' }
  const { id: ofLocal } = (await world.call('POST', environments, local)).body
  assert.equal(
    (await world.call('POST', `/v1/projects/web/env/${kept}/history/1/restore${query}`)).body.type,
    'sensitive',
  )
  const file = new Blob(['FILE=second\nNEW=1'], { type: 'text/plain' })
  await world.call('PUT', `/v1/projects/web/env${query}&target=production`, file)
  const drafts = ['UPSERTED', 'BORN'].map((key) => ({ key, value: 'x', target: ['production'] }))
  await world.call('POST', `/v10/projects/web/env${query}&upsert=true`, drafts)
  const rows = await world.deps.db.read
    .selectFrom('env_var')
    .select(['key', 'targets', 'type'])
    .where('project_id', '=', projectId)
    .orderBy('key')
    .orderBy('targets')
    .execute()
  const names = new Map([
    [copy, 'copied'],
    [ofLocal, 'local'],
  ])
  const types = rows.map(({ key, targets, type }) => `${key} ${names.get(targets) ?? targets} ${type}`)
  assert.deepEqual(types.sort(), [
    'BORN production sensitive',
    'FILE production sensitive',
    'KEPT copied sensitive',
    'KEPT preview sensitive',
    'LOCAL development encrypted',
    'LOCAL local sensitive',
    'NEW production sensitive',
    'UPSERTED production sensitive',
  ])
})
