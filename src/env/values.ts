/**
 * Values: sealed with the data key of their project, for the variable and the version that set them. A ciphertext copied to
 * another row, version or project does not open. The data key is wrapped by a root key. reliability.md 2g.
 */
import type { KeyObject } from 'node:crypto'
import type { OperatorCtx } from '../context.ts'
import { prepared } from '../db/db.ts'
import type { Row } from '../db/schema.ts'
import { randomText } from '../ids.ts'
import type { Keyring } from '../outside/keyring.ts'
import { keyFrom, newKeyBytes, open, placeOf, seal } from '../outside/seal.ts'
import { activeKeyId } from './root-keys.ts'

/** What opens and seals the values of one project. */
export type Safe = {
  seal(envId: string, valueVersion: number, value: string): string
  /** Undefined when it does not open; the log says which, never what. */
  open(envId: string, valueVersion: number, sealed: string): string | undefined
}

const FORMAT = 'v1'
/** Unwrapped data keys are kept: a bound, and beyond it they are unwrapped again. */
const KEYS_KEPT = 10_000
const unwrapped = new WeakMap<Keyring, Map<string, KeyObject>>()

/** The safe of a project for reading. A project without a data key has nothing that could be opened. */
export async function openSafe(ctx: OperatorCtx, projectId: string): Promise<Safe> {
  const [row] = await selectProjectKey(ctx.db, { projectId })
  return safeOf(ctx, projectId, row)
}

/** The safe of a project for writing: its data key is made when it is the first value. */
export async function openSafeToWrite(ctx: OperatorCtx, projectId: string): Promise<Safe> {
  const [known] = await selectProjectKey(ctx.db, { projectId })
  if (known !== undefined) return safeOf(ctx, projectId, known)
  const rootKeyId = await activeKeyId(ctx.db)
  const id = `dk_${randomText(8)}`
  const wrapped = wrap(ctx, projectId, id, rootKeyId, newKeyBytes())
  await insertProjectKey(ctx.db, { projectId, id, rootKeyId, wrapped })
  const [row] = await selectProjectKey(ctx.db, { projectId })
  return safeOf(ctx, projectId, row)
}

function safeOf(ctx: OperatorCtx, projectId: string, row: Row<'project_key'> | undefined): Safe {
  const key = row && unwrap(ctx, row)
  const fail = (envId: string, keyId: string | undefined) => {
    ctx.deps.log.error({ projectId, envId, keyId, rootKeyId: row?.root_key_id }, 'a sealed value does not open')
    return undefined
  }
  return {
    seal(envId, valueVersion, value) {
      if (row === undefined || key === undefined) throw new Error(`the data key of ${projectId} does not open`)
      const body = seal(key, Buffer.from(value), valuePlace(projectId, envId, valueVersion, row.id))
      return `${FORMAT}.${row.id}.${body}`
    },
    open(envId, valueVersion, sealed) {
      const [format, keyId, body] = sealed.split('.', 3)
      if (format !== FORMAT || key === undefined || keyId === undefined || keyId !== row?.id) return fail(envId, keyId)
      const place = valuePlace(projectId, envId, valueVersion, keyId)
      return open(key, body ?? '', place)?.toString() ?? fail(envId, keyId)
    },
  }
}

function valuePlace(projectId: string, envId: string, valueVersion: number, keyId: string): Buffer {
  return placeOf('env', projectId, envId, 'value', String(valueVersion), keyId)
}

/** Wraps a data key by another root key; every value stays as it is. False when it does not open. */
export async function rewrap(ctx: OperatorCtx, row: Row<'project_key'>, rootKeyId: string): Promise<boolean> {
  const key = unwrap(ctx, row)
  if (key === undefined) return false
  const wrapped = wrap(ctx, row.project_id, row.id, rootKeyId, key.export())
  await updateProjectKey(ctx.db, { projectId: row.project_id, rootKeyId, wrapped })
  return true
}

function wrap(ctx: OperatorCtx, projectId: string, id: string, rootKeyId: string, bytes: Buffer): string {
  const root = ctx.deps.outside.keyring.find(rootKeyId)
  if (root === undefined) {
    throw new Error(`the keyring ${ctx.deps.outside.keyring.place} lacks the active root key ${rootKeyId}`)
  }
  return seal(root, bytes, keyPlace(projectId, id, rootKeyId))
}

function unwrap(ctx: OperatorCtx, row: Row<'project_key'>): KeyObject | undefined {
  const { keyring } = ctx.deps.outside
  const kept = unwrapped.get(keyring) ?? new Map<string, KeyObject>()
  unwrapped.set(keyring, kept)
  const name = `${row.project_id} ${row.id} ${row.root_key_id} ${row.wrapped_key}`
  const known = kept.get(name)
  if (known !== undefined) return known
  const root = keyring.find(row.root_key_id)
  const bytes = root && open(root, row.wrapped_key, keyPlace(row.project_id, row.id, row.root_key_id))
  if (bytes === undefined) {
    const ids = { projectId: row.project_id, keyId: row.id, rootKeyId: row.root_key_id }
    ctx.deps.log.error(ids, root ? 'a project key does not open' : 'the keyring lacks the root key of a project key')
    return undefined
  }
  if (kept.size >= KEYS_KEPT) kept.clear()
  const key = keyFrom(bytes)
  kept.set(name, key)
  return key
}

function keyPlace(projectId: string, id: string, rootKeyId: string): Buffer {
  return placeOf('project-key', projectId, id, rootKeyId)
}

const selectProjectKey = prepared<{ projectId: string }, Row<'project_key'>>((db, value) =>
  db.selectFrom('project_key').selectAll().where('project_id', '=', value.projectId),
)

const insertProjectKey = prepared<{ projectId: string; id: string; rootKeyId: string; wrapped: string }, unknown>(
  (db, value) =>
    db
      .insertInto('project_key')
      .values({ project_id: value.projectId, id: value.id, root_key_id: value.rootKeyId, wrapped_key: value.wrapped })
      .onConflict((conflict) => conflict.column('project_id').doNothing()),
)

const updateProjectKey = prepared<{ projectId: string; rootKeyId: string; wrapped: string }, unknown>((db, value) =>
  db
    .updateTable('project_key')
    .set({ root_key_id: value.rootKeyId, wrapped_key: value.wrapped })
    .where('project_id', '=', value.projectId),
)
