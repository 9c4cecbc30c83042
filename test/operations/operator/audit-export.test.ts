/** The exported audit log: whole, in the order of its chain, and checked by what docs/operations.md says, without Berth. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { appendAuditEntries } from '../../../src/platform/outbox/audit-chain.ts'
import { transact } from '../../../src/platform/outbox/transact.ts'
import { berth } from '../../support/clients/command.ts'
import { onBothEngines, type World } from '../../support/world.ts'

type Line = Record<string, string | number | null>

/** Follows the chain through the lines as the page says. Gives the last hash. */
function follow([head, ...lines]: [{ previous: { position: number; hash: string } }, ...Line[]]): string {
  let { hash, position } = head.previous
  for (const line of lines) {
    const columns = [
      'position',
      'stamp',
      'account_id',
      'actor_kind',
      'actor_id',
      'token_id',
      'type',
      'subject_id',
      'fields_json',
    ]
    const content = JSON.stringify([hash, ...columns.map((column) => line[column])])
    hash = createHash('sha256').update(content).digest('base64url')
    assert.equal(line.position, ++position, 'there is no gap')
    assert.equal(line.hash, hash, `entry ${position}`)
  }
  return hash
}

async function exported(world: World, words: string[] = []) {
  const file = join(world.folder, 'audit.jsonl')
  const env = {
    BERTH_DATA: world.folder,
    BERTH_PUBLIC_URL: world.app.server.listening ? addressOf(world) : await world.listen(),
  }
  const { code, out, err } = await berth(['audit', 'export', file, '--json', ...words], env)
  assert.equal(code, 0, err)
  const lines = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  return { told: JSON.parse(out) as { entries: number; head: string | null }, lines }
}

function addressOf({ app }: World): string {
  const address = app.server.address()
  return typeof address === 'object' && address ? `http://127.0.0.1:${address.port}` : assert.fail()
}

/** This many entries, ten seconds apart, from a given time on. */
async function addMany(world: World, count: number, from: number): Promise<void> {
  const entry = {
    account_id: null,
    actor_kind: 'timer',
    actor_id: 'x',
    token_id: null,
    type: 'sample',
    subject_id: null,
    fields_json: '[]',
  }
  const entries = Array.from({ length: count }, (_, at) => ({ ...entry, stamp: (from + at * 10_000) * 1024 }))
  await transact(world.deps, { name: 'sample' }, (db) => appendAuditEntries({ db, deps: world.deps }, entries))
  await world.operator('POST', '/operator/v1/timers/audit-chain/run', {})
}

onBothEngines(
  'the export holds every entry in the order of the chain, over several pages, and nothing can be changed in it',
  async (world) => {
    const began = Date.parse('2026-01-01T00:00:00Z')
    await addMany(world, 2500, began)
    await world.call('POST', '/v10/projects', { name: 'web' })
    await world.operator('POST', '/operator/v1/timers/audit-chain/run', {})
    const { told, lines } = await exported(world)
    const { body } = await world.operator('GET', '/operator/v1/audit/verify')
    assert.deepEqual([told.entries, told.head, lines.length], [body.entries, body.head, body.entries + 1])
    assert.deepEqual(lines[0], { format: 'berth-audit-export', version: 1, previous: { position: 0, hash: '' } })
    assert.equal(`${lines.length - 1}.${follow(lines as never)}`, body.head)
    const changed = structuredClone(lines)
    changed[1200].actor_id = 'somebody else'
    assert.throws(() => follow(changed as never))
    assert.throws(() => follow(lines.toSpliced(1200, 1) as never))

    const words = ['--since', '2026-01-01T01:00:00Z', '--until', '2026-01-01T02:00:00Z']
    const hour = await exported(world, words)
    assert.equal(hour.told.entries, 360)
    assert.equal(hour.lines[1].stamp, Date.parse('2026-01-01T01:00:00Z') * 1024)
    assert.equal(hour.lines.at(-1).stamp, Date.parse('2026-01-01T01:59:50Z') * 1024)
    assert.equal(follow(hour.lines as never), hour.lines.at(-1).hash)
    assert.equal(hour.lines[0].previous.position, hour.lines[1].position - 1)
    const none = await exported(world, ['--since', '2040-01-01'])
    assert.deepEqual([none.told.entries, none.told.head, none.lines.length], [0, null, 1])
    const before = await exported(world, ['--until', '2020-01-01'])
    assert.deepEqual([before.told.entries, before.lines.length], [0, 1])
  },
)

onBothEngines('an invalid time is refused, and a failed export leaves no file', async (world) => {
  const file = join(world.folder, 'out.jsonl')
  const env = { BERTH_DATA: world.folder, BERTH_PUBLIC_URL: 'http://127.0.0.1:1' }
  const bad = await berth(['audit', 'export', file, '--since', 'yesterday'], env)
  assert.deepEqual([bad.code, /--since must be a time/.test(bad.err)], [64, true])
  assert.equal((await berth(['audit', 'export', file], env)).code, 1)
  assert.equal(existsSync(file), false)
})
