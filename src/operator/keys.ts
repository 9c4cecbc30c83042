/** Root keys as the operator sees and turns them: never a key, only its id and what it still wraps. */

import type { OperatorCtx } from '../context.ts'
import { operatorRoute } from '../http/route.ts'
import { Type } from '../schema/builder.ts'
import { activeKeyId } from '../secrets/root-keys.ts'
import { beginRotation, listKeys, retireKey } from '../secrets/rotation.ts'
import { runTimer } from '../timers.ts'

const tag = 'operator'
const RootKey = Type.Object({
  id: Type.String(),
  active: Type.Boolean(),
  references: Type.Integer({ description: 'project keys that it wraps; at 0 it can be retired' }),
})

export const KeyList = Type.Object({ activeKeyId: Type.String(), keys: Type.Array(RootKey) })

export const keyRoutes = [
  operatorRoute({
    method: 'GET',
    path: '/operator/v1/keys',
    operationId: 'operatorListKeys',
    summary: 'List the root keys and what each one still wraps',
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
    summary: 'Make a new root key active and wrap every project key by it; goes on where an earlier call was cut short',
    tag,
    prepare: rotateKeys,
    run: (_ctx, _subject, _input, rotated) => rotated,
    refuses: ['keyring_fixed'],
    status: 200,
    reply: Type.Object({ activeKeyId: Type.String(), rewrapped: Type.Integer() }),
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

/** The file and the slices have transactions of their own, so this runs before the request's. */
async function rotateKeys(ctx: OperatorCtx): Promise<{ activeKeyId: string; rewrapped: number }> {
  await beginRotation(ctx.deps)
  const rewrapped = await runTimer(ctx.deps, 'rewrap-project-keys', ctx.now)
  return { activeKeyId: await activeKeyId(ctx.deps.db.read), rewrapped }
}
