/** The operator's logs when they are long: a filter looks through so many rows for a page, and the walk still meets every row once. docs/decisions/0124. */
import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { LOOKED_THROUGH } from '../../src/http/page.ts'
import { onBothEngines, type World } from '../support/world.ts'

const ROWS = 2 * LOOKED_THROUGH + 3000
/** Before everything that the service itself writes. */
const FIRST = 1_000_000_000_000_000
/** One row in so many is looked for; none among the first that are looked through. */
const EVERY = 7000

const numbers = sql.raw(`with recursive number(n) as
  (select cast(1 as bigint) union all select n + 1 from number where n < ${ROWS})`)
const wanted = Array.from({ length: Math.floor(ROWS / EVERY) }, (_, at) => FIRST + (at + 1) * EVERY).reverse()

onBothEngines(
  'of a long audit log every entry that a filter keeps comes once, in pages that look through so many',
  async (world) => {
    await world.deps.db.write((tx) =>
      sql`insert into audit (stamp, actor_kind, actor_id, type, fields_json) ${numbers}
      select ${sql.lit(FIRST)} + n, 'user', case when n % ${sql.lit(EVERY)} = 0 then 'usr_rare' else 'usr_other' end, 'x', '[]'
      from number`.execute(tx),
    )
    const { pages, rows } = await walk(world, '/operator/v1/audit?actorId=usr_rare&limit=4', 'entries')
    assert.deepEqual(
      rows.map(({ stamp }) => stamp),
      wanted,
    )
    assert.ok(pages.some(({ pagination }) => pagination.count < 4 && pagination.next !== null))
    const none = await walk(world, '/operator/v1/audit?actorId=usr_nobody', 'entries')
    assert.deepEqual([none.rows.length, none.pages.length], [0, 3])
  },
)

onBothEngines('of a long log of deliveries every one of a status comes once', async (world) => {
  await world.deps.db.write((tx) =>
    sql`insert into delivery (id, account_id, endpoint_id, type, attempts, status, created_stamp) ${numbers}
      select 'dlv_' || n, 'a', 'hook_1', 'x', 1, case when n % ${sql.lit(EVERY)} = 0 then 'failed' else 'delivered' end,
        ${sql.lit(FIRST)} + n from number`.execute(tx),
  )
  for (const endpoint of ['', '&endpointId=hook_1']) {
    const { rows } = await walk(world, `/operator/v1/webhook-deliveries?status=failed&limit=4${endpoint}`, 'deliveries')
    assert.deepEqual(
      rows.map(({ id }) => id),
      wanted.map((stamp) => `dlv_${stamp - FIRST}`),
    )
  }
})

type Page = {
  entries: { stamp: number }[]
  deliveries: { id: string }[]
  pagination: { count: number; next: number | null }
}

async function walk<List extends 'entries' | 'deliveries'>({ operator }: World, url: string, list: List) {
  const pages: Page[] = []
  for (let until = ''; ; ) {
    const { status, text } = await operator('GET', url + until)
    assert.equal(status, 200, text)
    const page: Page = JSON.parse(text)
    pages.push(page)
    const { next } = page.pagination
    if (next === null) return { pages, rows: pages.flatMap((page): Page[List][number][] => page[list]) }
    until = `&until=${next}`
  }
}
