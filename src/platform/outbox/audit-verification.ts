/** Verifies the hash chain of the audit log from the first entry to the last. docs/decisions/0100. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { STAMPS_PER_MS } from '../base/clock.ts'
import type { Queries } from '../db/db.ts'
import type { Row } from '../db/schema.ts'
import { type ChainLink, GENESIS_LINK, linkAfter } from './audit-chain.ts'

/** Entries per read; other work runs between two slices. */
const SLICE = 1000
/** No transaction and no clock difference is this long: a later entry was inserted, or a clock was set. */
const LATE = 60_000 * STAMPS_PER_MS

type Broken = { position: number; stamp: number | null; why: 'changed' | 'missing' | 'replaced' }
export type ChainVerification = { firstBroken: Broken | null; late: number }

/**
 * Verifies the chain up to `head`, and stops at the first broken entry. `anchor`: an externally stored link that the chain must contain. Returns the
 * first broken entry and how many entries are late. docs/operations.md: Audit log.
 */
export async function verifyChain(
  db: Queries,
  head: ChainLink,
  anchor: ChainLink | undefined,
): Promise<ChainVerification> {
  const began = await chainBegan(db)
  let [last, latest, late] = [GENESIS_LINK, 0, 0]
  const broken = (why: Broken['why'], stamp: number | null, { position }: ChainLink) => ({
    late,
    firstBroken: { position, stamp, why },
  })
  const [before] = await beforeStart(db)
  if (before !== undefined) return broken('changed', before.stamp, before)
  while (last.position < head.position) {
    const entries = await nextEntries(db, last.position, head.position)
    for (const entry of entries) {
      const link = linkAfter(last, entry)
      if (entry.position !== link.position) return broken('missing', null, link)
      if (entry.hash !== link.hash) return broken('changed', entry.stamp, link)
      if (anchor?.position === link.position && anchor.hash !== link.hash) return broken('replaced', entry.stamp, link)
      if (entry.stamp >= began && latest - entry.stamp > LATE) late++
      latest = Math.max(latest, entry.stamp)
      last = link
    }
    if (entries.length === 0) break
    await nextTurn()
  }
  const end = Math.max(head.position, anchor?.position ?? 0)
  return end > last.position
    ? broken('missing', null, { ...last, position: last.position + 1 })
    : { late, firstBroken: null }
}

function nextEntries(db: Queries, after: number, to: number): Promise<Row<'audit'>[]> {
  const inChain = db.selectFrom('audit').selectAll().where('position', '>', after).where('position', '<=', to)
  return inChain.orderBy('position').limit(SLICE).execute()
}

/** Finds entries at or before the start of the chain, which the walk would skip. Berth writes none there. */
function beforeStart(db: Queries): Promise<(ChainLink & { stamp: number })[]> {
  const before = db
    .selectFrom('audit')
    .select(['position', 'hash', 'stamp'])
    .where('position', '<=', GENESIS_LINK.position)
  return before.orderBy('position').limit(1).$narrowType<ChainLink>().execute()
}

/** Entries from before the chain joined it in any order. */
async function chainBegan(db: Queries): Promise<number> {
  const fact = db.selectFrom('fact').select('value').where('name', '=', 'audit_chain_began')
  return Number((await fact.executeTakeFirst())?.value ?? 0)
}
