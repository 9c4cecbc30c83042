/** Whether the audit log is still what was written: its chain, walked from the first entry to the last. docs/operations.md. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Static } from 'typebox'
import { STAMPS_PER_MS } from '../clock.ts'
import type { Input, OperatorCtx } from '../context.ts'
import type { Queries } from '../db/db.ts'
import type { Row } from '../db/schema.ts'
import { countUnlinked, headOf, type Link, linkAfter, START } from '../outbox/audit-chain.ts'
import { Type } from '../schema/builder.ts'
import { Nullable, OneOf } from '../schema/fields.ts'

/** Entries that are read at a time; between two slices others have their turn. */
const SLICE = 1000
/** No transaction lasts as long, and no two clocks differ by as much: a line that comes later than this was put in, or a clock was set. */
const LATE = 60_000 * STAMPS_PER_MS

export const VerifyQuery = Type.Object({
  head: Type.Optional(
    Type.String({
      pattern: '^[0-9]{1,15}\\.[A-Za-z0-9_-]{43}$',
      maxLength: 60,
      description: 'the head that an earlier call gave',
    }),
  ),
})
export const Verified = Type.Object({
  verified: Type.Boolean(),
  entries: Type.Integer({ description: 'the entries of the chain' }),
  head: Nullable(Type.String({ description: 'the last entry: keep it elsewhere, and verify against it' })),
  unlinked: Type.Integer({ description: 'entries that the sweep audit-chain has not come to yet; at most 10000' }),
  late: Type.Integer({ description: 'entries that are a minute and more older than one before them' }),
  firstBroken: Nullable(
    Type.Object({
      position: Type.Integer(),
      stamp: Nullable(Type.Integer()),
      why: OneOf('changed', 'missing', 'replaced'),
    }),
  ),
})
type Answer = Static<typeof Verified>

/** Walks the chain as far as it goes now, up to the first entry that is not what it was. `head`: an anchor that an earlier call gave. */
export async function verifyAudit(
  { db, deps }: OperatorCtx,
  _: undefined,
  { query }: Input<Static<typeof VerifyQuery>>,
): Promise<Answer> {
  // Who changed an entry may have done it behind the back of this process.
  deps.db.renew()
  const head = await headOf(db)
  const { firstBroken, late } = await walk(db, head, readAnchor(query.head))
  return {
    verified: firstBroken === null,
    entries: head.position,
    head: head.position === 0 ? null : `${head.position}.${head.hash}`,
    unlinked: await countUnlinked(db),
    late,
    firstBroken,
  }
}

async function walk(db: Queries, head: Link, anchor: Link | undefined): Promise<Pick<Answer, 'firstBroken' | 'late'>> {
  const began = await chainBegan(db)
  let [last, latest, late] = [START, 0, 0]
  const broken = (why: 'changed' | 'missing' | 'replaced', stamp: number | null, { position }: Link) => ({
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

/** No entry that Berth writes stands at or before the start of the chain: the walk would pass one that was put there. */
function beforeStart(db: Queries): Promise<(Link & { stamp: number })[]> {
  const before = db.selectFrom('audit').select(['position', 'hash', 'stamp']).where('position', '<=', START.position)
  return before.orderBy('position').limit(1).$narrowType<Link>().execute()
}

/** Entries from before the chain joined it in any order. */
async function chainBegan(db: Queries): Promise<number> {
  const fact = db.selectFrom('fact').select('value').where('name', '=', 'audit_chain_began')
  return Number((await fact.executeTakeFirst())?.value ?? 0)
}

function readAnchor(text: string | undefined): Link | undefined {
  if (text === undefined) return undefined
  const dot = text.indexOf('.')
  return { position: Number(text.slice(0, dot)), hash: text.slice(dot + 1) }
}
