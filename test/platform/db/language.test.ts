/** A condition of the server is known by its code, whatever language it speaks. src/platform/db/postgres/conditions.ts; docs/scaling.md: Server language. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { type Db, preparedQuery } from '../../../src/platform/db/db.ts'
import { openPostgres } from '../../../src/platform/db/postgres/open.ts'
import { root } from '../../support/root.ts'
import { openGermanProxy } from '../../support/servers/german-proxy.ts'
import { migratedDatabase, PATIENCE } from '../../support/world.ts'

const readFact = preparedQuery<{ name: string }, { name: string; value: string }>((db, value) =>
  db.selectFrom('fact').selectAll().where('name', '=', value.name),
)

async function openGerman(t: TestContext): Promise<{ db: Db; said: string[] }> {
  const proxy = await openGermanProxy(t, new URL(await migratedDatabase()))
  const db = await openPostgres(proxy.url, () => {}, undefined, {
    preparedStatements: true,
    patience: Number(PATIENCE),
  })
  t.after(() => db.close())
  return { db, said: proxy.said }
}

test('reads and writes go on while a newer instance migrates a server that speaks German [postgres]', async (t) => {
  const { db, said } = await openGerman(t)
  await db.write((tx) => tx.insertInto('fact').values({ name: 'f', value: 'x' }).execute())
  const readBoth = () => Promise.all([readFact(db.read, { name: 'f' }), db.write((tx) => readFact(tx, { name: 'f' }))])
  for (let at = 0; at < 10; at++) await readBoth()
  await sql`alter table fact add column more text`.execute(db.read)
  const answers = await Promise.all(Array.from({ length: 20 }, readBoth))
  for (const [row] of answers.flat()) assert.deepEqual(row, { name: 'f', value: 'x', more: null })
  assert.ok(said.includes('gecachter Plan darf den Ergebnistyp nicht ändern'), said.join())
})

test('a serialization failure is retried, and conflict, timeout and shutdown are distinguished, in German [postgres]', async (t) => {
  const { db, said } = await openGerman(t)
  await db.write((tx) => tx.insertInto('fact').values({ name: 'count', value: '0' }).execute())
  const add = () =>
    db.write(async (tx) => {
      const { value } = await tx
        .selectFrom('fact')
        .select('value')
        .where('name', '=', 'count')
        .executeTakeFirstOrThrow()
      await tx
        .updateTable('fact')
        .set({ value: String(Number(value) + 1) })
        .where('name', '=', 'count')
        .execute()
    })
  await Promise.all(Array.from({ length: 8 }, add))
  assert.equal((await readFact(db.read, { name: 'count' }))[0]!.value, '8')
  const taken = db.write((tx) => tx.insertInto('fact').values({ name: 'count', value: 'x' }).execute())
  await assert.rejects(taken, { code: '23505', severity: 'FEHLER' })
  const outcome = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      (error) => [db.refusalOf(error), db.mayHaveCommitted(error)],
    )
  const late = db.write(async (tx) => {
    await sql`set local statement_timeout = 1`.execute(tx)
    await sql`select pg_sleep(60)`.execute(tx)
  })
  assert.deepEqual(await outcome(late), ['unavailable', false])
  const ended = db.write((tx) => sql`select pg_terminate_backend(pg_backend_pid())`.execute(tx))
  assert.deepEqual(await outcome(ended), ['unavailable', true])
  assert.ok(said.includes('storniere Anfrage wegen Zeitüberschreitung der Anfrage'), said.join())
})

/**
 * Places that read the text of an error or of a refusal, and whose text it is. None may be a server's, which speaks the language of its settings.
 */
const TEXT_OF: Readonly<Record<string, string>> = {
  'src/platform/db/postgres/conditions.ts': 'the driver, where no server spoke: it gives no code and no other language',
  'src/platform/db/sqlite/store-errors.ts': 'SQLite, which is part of the program and speaks English alone',
  'src/platform/settings/credentials.ts': 'our own sentences about settings',
  'src/start-wait.ts': 'the driver, where no server spoke',
  'src/platform/db/db.ts': 'Kysely, which is part of the program',
  'src/platform/adapters/file-errors.ts': 'a code of the system, next to a message',
  'src/cli/command-line/parse.ts': 'Node.js, which is part of the program',
  'src/console/action.ts': 'our own refusals',
  'src/console/names/error-messages.ts': 'our own refusals',
}

test('no condition of a server is detected from the text of its message', () => {
  const reads = /[mM]essage\)?\.(includes|startsWith|endsWith|match|search|indexOf)\(|\.(test|exec)\(.*[mM]essage\b/
  const found = globSync('src/**/*.ts', { cwd: root }).filter((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    return text.split('\n').some((line) => reads.test(line))
  })
  assert.deepEqual(found.map((file) => file.replaceAll('\\', '/')).sort(), Object.keys(TEXT_OF).sort())
})
