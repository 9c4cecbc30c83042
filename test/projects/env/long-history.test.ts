/** What had many versions goes in steps of few rows, so that no statement holds others up. docs/limits.md. */
import assert from 'node:assert/strict'
import { StatementSync } from 'node:sqlite'
import { addRows, tamper } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'

/** Rows of the history that one statement may change: a step, and the last variable of it with all its versions. */
const MAX_AT_ONCE = 600
const VARIABLES = 30
const VERSIONS = 60

/** A project whose variables each have as many versions as if they had been changed so often. Gives its id and theirs. */
async function openProject(world: World, name: string): Promise<{ id: string; ids: string[] }> {
  const { id } = (await world.call('POST', '/v10/projects', { name })).body
  const variables = Array.from({ length: VARIABLES }, (_, at) => ({
    ...{ key: `KEY_${at}`, value: 'first', type: 'encrypted', target: ['production'] },
  }))
  await world.call('POST', `/v10/projects/${name}/env`, variables)
  const { db } = world.deps
  const rows = await db.read.selectFrom('env_history').selectAll().where('project_id', '=', id).execute()
  for (let version = 2; version <= VERSIONS; version++) {
    const next = rows.map((row) => ({ ...row, version, action: 'updated' as const }))
    await addRows(world, 'env_history', next)
  }
  await tamper(world, 'env_var', { version: VERSIONS }, { project_id: id })
  return { id, ids: rows.map((row) => row.env_id) }
}

/** Runs `work` and returns the highest number of history rows that one statement changed; only SQLite reports it. */
async function mostAtOnce(work: () => Promise<unknown>): Promise<number> {
  const { run } = StatementSync.prototype
  let most = 0
  StatementSync.prototype.run = function (this: StatementSync, ...values: Parameters<typeof run>) {
    const ran = run.apply(this, values)
    if (/^(update|delete from) "env_history"/.test(this.sourceSQL)) most = Math.max(most, Number(ran.changes))
    return ran
  } as typeof run
  try {
    await work()
  } finally {
    StatementSync.prototype.run = run
  }
  return most
}

onBothEngines(
  'many versions go in steps of few rows: of variables that are deleted, and of a project',
  async (world) => {
    const [web, kept] = [await openProject(world, 'web'), await openProject(world, 'kept')]
    const historyOf = (id: string) =>
      world.deps.db.read.selectFrom('env_history').selectAll().where('project_id', '=', id).execute()
    const deleting = await mostAtOnce(async () => {
      assert.equal((await world.call('DELETE', '/v1/projects/web/env', { ids: web.ids })).body.deleted, VARIABLES)
    })
    const after = await historyOf(web.id)
    assert.equal(after.length, VARIABLES * (VERSIONS + 1))
    assert.ok(after.every((row) => row.sealed_value === null && row.expires_at !== null))
    const removing = await mostAtOnce(async () => {
      assert.equal((await world.call('DELETE', '/v9/projects/web')).status, 204)
    })
    assert.equal((await historyOf(web.id)).length, 0)
    const untouched = await historyOf(kept.id)
    assert.equal(untouched.length, VARIABLES * VERSIONS)
    assert.ok(untouched.every((row) => row.sealed_value !== null && row.expires_at === null))
    if (world.engine !== 'sqlite') return
    for (const most of [deleting, removing]) assert.ok(most > 0 && most <= MAX_AT_ONCE, `${most} rows`)
  },
)
