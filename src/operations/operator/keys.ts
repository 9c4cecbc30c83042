/** Root keys for operators: ids and uses, never a key. */

import type { Static } from 'typebox'
import type { Input, OperatorCtx } from '../../context.ts'
import { operatorRoute } from '../../platform/http/route.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { matchProofs, readKeyringCopyStatus } from '../../platform/secrets/keyring-copy.ts'
import { activeKeyId } from '../../platform/secrets/root-keys.ts'
import { beginRotation, listKeys, retireKey } from '../../platform/secrets/rotation.ts'
import { runTimer } from '../../timers.ts'

const tag = 'operator'
const RootKey = Type.Object({
  id: Type.String(),
  active: Type.Boolean(),
  references: Type.Integer({ description: 'project keys that it wraps; at 0 it can be retired' }),
})

export const KeyList = Type.Object({ activeKeyId: Type.String(), keys: Type.Array(RootKey) })

const CopyNote = Type.Object({
  place: Type.String({ minLength: 1, maxLength: 1024, description: 'where the copy lies' }),
  keys: Type.Array(
    Type.Object({
      id: Type.String({ minLength: 1, maxLength: 64 }),
      proof: Type.String({
        maxLength: 64,
        description: 'HMAC-SHA256 by the key over `berth keyring copy <id>`, base64url',
      }),
    }),
    { minItems: 1, maxItems: 100 },
  ),
})

export const keyRoutes = [
  operatorRoute({
    method: 'GET',
    path: '/operator/v1/keys',
    operationId: 'operatorListKeys',
    summary: 'List the root keys and the data keys that each one wraps',
    tag,
    run: listKeys,
    list: { rows: 100, rowBytes: 1 * 1024 },
    status: 200,
    reply: KeyList,
  }),
  operatorRoute({
    method: 'POST',
    path: '/operator/v1/keys/rotate',
    operationId: 'operatorRotateKeys',
    summary: 'Activate a new root key and rewrap every project key; resumes an interrupted call',
    tag,
    prepare: rotateKeys,
    run: (_ctx, _subject, _input, rotated) => rotated,
    refuses: ['keyring_fixed'],
    status: 200,
    reply: Type.Object({ activeKeyId: Type.String(), rewrapped: Type.Integer() }),
  }),
  operatorRoute({
    method: 'POST',
    path: '/operator/v1/keys/copies',
    operationId: 'operatorNoteKeyringCopy',
    summary:
      'Report the root keys in an off-site encrypted copy of the keyring; each is verified by an HMAC, and is not sent',
    tag,
    body: CopyNote,
    run: noteCopy,
    refuses: ['keyring_copy_wrong'],
    status: 200,
    reply: Type.Object({
      verified: Type.Array(Type.String(), { description: 'the root keys that the copy holds' }),
      missing: Type.Array(Type.String(), { description: 'those that no verified copy holds' }),
    }),
  }),
  operatorRoute({
    method: 'DELETE',
    path: '/operator/v1/keys/:id',
    operationId: 'operatorRetireKey',
    summary: 'Retire a root key that wraps nothing any more',
    tag,
    prepare: retireKey,
    run: () => undefined,
    refuses: ['not_found', 'key_in_use'],
    status: 204,
  }),
]

/**
 * Records that a keyring copy holds these root keys. Skips unknown keys. Refuses: keyring_copy_wrong 409 (another key under a known id).
 * docs/variables.md: Encrypted keyring copy.
 */
async function noteCopy(ctx: OperatorCtx, _: undefined, { body }: Input<unknown, Static<typeof CopyNote>>) {
  const registered = new Set((await ctx.db.selectFrom('root_key').select('id').execute()).map(({ id }) => id))
  const proofs = matchProofs(ctx.deps.keyring, body.keys).filter(({ id }) => registered.has(id))
  const wrong = proofs.find(({ matches }) => !matches)
  if (wrong !== undefined)
    refuse('keyring_copy_wrong', `The copy has another key under the id ${wrong.id}: make a new copy.`)
  for (const { id } of proofs) {
    const row = { root_key_id: id, verified_at: ctx.now, place: body.place }
    await ctx.db
      .insertInto('keyring_copy')
      .values(row)
      .onConflict((conflict) => conflict.column('root_key_id').doUpdateSet(row))
      .execute()
  }
  const current = ctx.db.selectFrom('root_key').select('id')
  await ctx.db.deleteFrom('keyring_copy').where('root_key_id', 'not in', current).execute()
  return { verified: proofs.map(({ id }) => id), missing: (await readKeyringCopyStatus(ctx.db)).missing }
}

/** The file and the slices have their own transactions, so this runs before the request's. */
async function rotateKeys(ctx: OperatorCtx): Promise<{ activeKeyId: string; rewrapped: number }> {
  await beginRotation(ctx.deps)
  const rewrapped = await runTimer(ctx.deps, 'rewrap-project-keys', ctx.now)
  return { activeKeyId: await activeKeyId(ctx.deps.db.read), rewrapped }
}
