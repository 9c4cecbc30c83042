/** Verification of the audit log's hash chain. docs/operations.md. */
import type { Static } from 'typebox'
import type { Input, OperatorCtx } from '../../context.ts'
import { type ChainLink, countUnlinked, readChainHead } from '../../platform/outbox/audit-chain.ts'
import { verifyChain } from '../../platform/outbox/audit-verification.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, OneOf } from '../../platform/schema/fields.ts'

export const VerifyQuery = Type.Object({
  head: Type.Optional(
    Type.String({
      pattern: '^[0-9]{1,15}\\.[A-Za-z0-9_-]{43}$',
      maxLength: 60,
      description: 'the head from an earlier call',
    }),
  ),
})
export const AuditVerification = Type.Object({
  verified: Type.Boolean(),
  entries: Type.Integer({ description: 'the entries of the chain' }),
  head: Nullable(Type.String({ description: 'the last entry: store it elsewhere, and verify against it' })),
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
type Answer = Static<typeof AuditVerification>

/** Verifies the chain up to the first invalid entry. `head`: an anchor that an earlier call returned. */
export async function verifyAudit(
  { db, deps }: OperatorCtx,
  _: undefined,
  { query }: Input<Static<typeof VerifyQuery>>,
): Promise<Answer> {
  // An entry may have been changed by another process.
  deps.db.refreshSnapshot()
  const head = await readChainHead(db)
  const { firstBroken, late } = await verifyChain(db, head, readAnchor(query.head))
  return {
    verified: firstBroken === null,
    entries: head.position,
    head: head.position === 0 ? null : `${head.position}.${head.hash}`,
    unlinked: await countUnlinked(db),
    late,
    firstBroken,
  }
}

function readAnchor(text: string | undefined): ChainLink | undefined {
  if (text === undefined) return undefined
  const dot = text.indexOf('.')
  return { position: Number(text.slice(0, dot)), hash: text.slice(dot + 1) }
}
