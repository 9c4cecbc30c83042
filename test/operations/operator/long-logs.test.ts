/** The operator's logs when they are long: a filter looks through so many rows for a page, and the walk still meets every row once. docs/decisions/0124. */
import assert from 'node:assert/strict'
import { SCAN_LIMIT } from '../../../src/platform/http/pagination.ts'
import { addRows } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const ROWS = 2 * SCAN_LIMIT + 3000
/** Before everything that the service itself writes. */
const FIRST = 1_000_000_000_000_000
/** One row in so many is looked for; none among the first that are looked through. */
const EVERY = 7000

const numbers = Array.from({ length: ROWS }, (_, at) => at + 1)
const wanted = Array.from({ length: Math.floor(ROWS / EVERY) }, (_, at) => FIRST + (at + 1) * EVERY).reverse()

onBothEngines(
  'a filter on a long audit log returns each matching entry once, in pages with a scan limit',
  async (world) => {
    const entries = numbers.map((n) => ({
      ...{ stamp: FIRST + n, actor_kind: 'user', actor_id: n % EVERY === 0 ? 'usr_rare' : 'usr_other' },
      ...{ type: 'x', fields_json: '[]' },
    }))
    await addRows(world, 'audit', entries)
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
  const rows = numbers.map((n) => ({
    ...{ id: `dlv_${n}`, account_id: 'a', endpoint_id: 'hook_1', type: 'x', attempts: 1 },
    ...{ status: n % EVERY === 0 ? ('failed' as const) : ('delivered' as const), created_stamp: FIRST + n },
  }))
  await addRows(world, 'delivery', rows)
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
