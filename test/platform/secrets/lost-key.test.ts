/** What docs/variables.md says of a lost root key: the store starts again, names stay, and values are written again. */
import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sql } from 'kysely'
import { pino } from 'pino'
import { createChallenge, createChallengeKey } from '../../../src/accounts/second-factor/challenges.ts'
import { openPostgresConnection } from '../../../src/platform/db/postgres/open.ts'
import { openSqliteFile } from '../../../src/platform/db/sqlite/open.ts'
import { openService } from '../../../src/service.ts'
import { root } from '../../support/root.ts'
import { ENGINES, openWorld, type World } from '../../support/world.ts'
import { fill, KEYS } from './rotation-world.ts'

for (const engine of ENGINES) {
  test(`a store whose root key is lost starts after the statements of the page, and takes new values [${engine}]`, async (t) => {
    const world = await openWorld(engine)
    t.after(() => world.close())
    await fill(world, 1)
    await createChallengeKey(world.deps)
    const { activeKeyId } = (await world.operator('GET', KEYS)).body
    await world.stop()
    rmSync(join(world.folder, 'keys.json'))
    const start = () => openService(world.deps.config, pino({ level: 'silent' }), assert.ifError)
    await assert.rejects(start(), /the keyring .* is missing/)
    await runStatements(world, activeKeyId)
    const { app, deps, close } = await start()
    try {
      const headers = { authorization: `Bearer ${world.credentials.token}` }
      const read = async () => (await app.inject({ url: '/v9/projects/p0/env?decrypt=true', headers })).json().envs[0]
      const { id, key, value, decrypted } = await read()
      assert.deepEqual([key, value, decrypted], ['A', '', false])
      const url = `/v9/projects/p0/env/${id}`
      const written = await app.inject({ method: 'PATCH', url, headers, payload: { value: 'new' } })
      assert.equal(written.statusCode, 200, written.body)
      const again = await read()
      assert.deepEqual([again.value, again.decrypted], ['new', true])
      await createChallengeKey(deps)
      const ctx = { db: deps.db.read, deps, now: deps.clock.now(), csrfToken: 'of a browser' }
      assert.ok((await createChallenge(ctx, 'sign in')) !== undefined)
    } finally {
      await close()
    }
  })
}

/** Runs the block of the page as it stands there, with the id of the lost key. */
async function runStatements({ deps }: World, id: string): Promise<void> {
  const page = readFileSync(join(root, 'docs', 'variables.md'), 'utf8')
  const [, block = ''] = /^```sql\n(.*?)^```$/ms.exec(page) ?? []
  const statements = block.replaceAll('rk_lost', id).split(';\n').slice(0, -1)
  assert.ok(statements.length >= 3)
  const { database } = deps.config
  const db = database.engine === 'sqlite' ? openSqliteFile(database.file, false) : openPostgresConnection(database.url)
  try {
    for (const statement of statements) await sql.raw(statement).execute(db)
  } finally {
    await db.destroy()
  }
}
