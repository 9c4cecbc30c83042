/** Writes against the start of a transfer. docs/spec/reliability.md T33: no write after the snapshot. */
import assert from 'node:assert/strict'
import { eventually } from '../../support/eventually.ts'
import { iterations } from '../../support/iterations.ts'
import { type Call, onBothEngines, type World } from '../../support/world.ts'

const RUNS = iterations(20, 200)
const LANES = 4

/** All that the project has of variables and domains. */
async function partsOf({ deps }: World, projectId: string): Promise<string[]> {
  const env = await deps.db.read.selectFrom('env_var').selectAll().where('project_id', '=', projectId).execute()
  const domains = await deps.db.read
    .selectFrom('project_domain')
    .selectAll()
    .where('project_id', '=', projectId)
    .execute()
  return [...env.map((row) => `${row.key} ${row.version}`), ...domains.map((row) => row.name)].sort()
}

/** One start of a transfer in the middle of writes; gives how many of the writes were refused. */
async function race(world: World, taker: Call, at: number): Promise<number> {
  const name = `race-${at}`
  const projectId = (await world.call('POST', '/v10/projects', { name })).body.id
  const first = { key: 'FIRST', value: 'v', type: 'plain', target: ['preview'] }
  const { id } = (await world.call('POST', `/v10/projects/${name}/env`, first)).body.created
  const { code } = (await world.call('POST', `/projects/${name}/transfer-request`)).body
  const writes = Array.from({ length: LANES }, (_, lane) => [
    world.call.try('POST', `/v10/projects/${name}/env`, { ...first, key: `K${lane}` }),
    world.call.try('PATCH', `/v9/projects/${name}/env/${id}`, { value: `v${lane}` }),
    world.call.try('POST', `/v10/projects/${name}/domains`, { name: `d${lane}.race${at}.example.com` }),
  ]).flat()
  let answered = 0
  for (const write of writes) void write.then(() => answered++)
  const start = async () => {
    // After so many of them are answered: from before the first to after the last.
    await eventually(() => answered >= at % (writes.length + 1))
    const answer = await taker('PUT', `/projects/transfer-request/${code}`)
    assert.equal(answer.status, 202, answer.text)
    return partsOf(world, projectId)
  }
  const [snapshot, ...answers] = await Promise.all([start(), ...writes])
  for (const answer of answers) assert.ok([200, 201, 409].includes(answer.status), answer.text)
  assert.deepEqual(await partsOf(world, projectId), snapshot, `run ${at}: a write landed behind the start`)
  return answers.filter((answer) => answer.status === 409).length
}

onBothEngines(`no write lands after the acknowledged start of a transfer, in ${RUNS} runs`, async (world) => {
  const taker = await world.user('taker')
  let refused = 0
  for (let at = 0; at < RUNS; at++) refused += await race(world, taker.call, at)
  assert.ok(refused > 0, 'no write met a transfer')
  assert.ok(refused < RUNS * LANES * 3, 'no write was before a transfer')
})
