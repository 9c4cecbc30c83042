import { hash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'

/** Deployments that are read and written at once: with 100 fields each that is 20,000 rows. */
const SLICE = 200
/** Rows that one statement carries. */
const ROWS = 500

/**
 * What the lists of deployments are filtered by, one row for each field of a deployment's `meta`, so that "the deployment of
 * this commit" is found by an index. A mark is what projects/deployments/meta.ts makes of a field and its value.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('deployment_meta')
    .addColumn('project_id', 'text', (c) => c.notNull())
    .addColumn('mark', 'text', (c) => c.notNull())
    .addColumn('deployment_id', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('deployment_meta_pk', ['project_id', 'mark', 'deployment_id'])
    .execute()
  for (let after = ''; ; ) {
    const { rows } = await sql<{ id: string; project_id: string; meta_json: string }>`
      select id, project_id, meta_json from deployment where id > ${after} order by id limit ${sql.lit(SLICE)}`.execute(
      db,
    )
    if (rows.length === 0) return
    after = rows.at(-1)!.id
    const marks = rows.flatMap((row) =>
      Object.entries(JSON.parse(row.meta_json) as Record<string, string>).map(([key, value]) => ({
        project_id: row.project_id,
        mark: hash('sha256', JSON.stringify([key, value]), 'base64url').slice(0, 22),
        deployment_id: row.id,
      })),
    )
    for (let at = 0; at < marks.length; at += ROWS) {
      await (db as Kysely<{ deployment_meta: (typeof marks)[number] }>)
        .insertInto('deployment_meta')
        .values(marks.slice(at, at + ROWS))
        .execute()
    }
  }
}
