/**
 * Values are sealed with the data key of their project, for the variable and version that set them. A ciphertext copied to another row, version or
 * project does not open. A root key wraps the data key. docs/spec/reliability.md 2g.
 */
import type { KeyObject } from 'node:crypto'
import type { Logger } from 'pino'
import { randomText } from '../base/ids.ts'
import { preparedQuery, type Queries } from '../db/db.ts'
import type { Row } from '../db/schema.ts'
import type { Keyring } from './keyring.ts'
import { activeKeyId } from './root-keys.ts'
import { associatedData, newKeyBytes, open, seal, toSecretKey } from './seal.ts'

export type SecretBox = {
  seal(envId: string, valueVersion: number, value: string): string
  /** Undefined when it does not open; the log names the value, never its content. */
  open(envId: string, valueVersion: number, sealed: string): string | undefined
  /** Seals a secret that is not a variable (a client secret, a webhook secret), for its `kind` and id. */
  sealSecret(kind: SecretKind, id: string, secret: string): string
  openSecret(kind: SecretKind, id: string, sealed: string): string | undefined
}

type SecretKind =
  | 'client-secret'
  | 'webhook'
  | 'mail'
  | 'log-drain'
  | 'git-credential'
  | 'protection-bypass'
  | 'totp'
  | 'challenge-key'
  | 'refresh-token'
  | 'deployment-env'

/** What of a context is asked for here. */
type KeyCtx = { db: Queries; deps: { keyring: Keyring; log: Pick<Logger, 'error'> }; secrets?: { decrypted: boolean } }

const FORMAT = 'v1'
/** The size of the cache of unwrapped data keys. */
const KEYS_KEPT = 10_000
const unwrapped = new WeakMap<Keyring, Map<string, KeyObject>>()

/** Opens the secret box of a project or an account for reading. Without a data key it can open nothing. */
export async function openSecretBox(ctx: KeyCtx, projectId: string, prepared?: PreparedSecretBox): Promise<SecretBox> {
  const [row] = await selectProjectKey(ctx.db, { projectId })
  return pick(ctx, projectId, row, prepared)
}

/**
 * Opens the secret box of a project or an account for writing, and creates a data key for the first value. Uses `prepared` when it has the current
 * data key, or when the resource has no data key yet.
 */
export async function openSecretBoxToWrite(
  ctx: KeyCtx,
  projectId: string,
  prepared?: PreparedSecretBox,
): Promise<SecretBox> {
  const [previous] = await selectProjectKey(ctx.db, { projectId })
  const row = previous ?? (await createDataKey(ctx, projectId, prepared?.key ?? newDataKey()))
  return pick(ctx, projectId, row, prepared)
}

/** Returns the prepared secret box if it has the same data key. */
function pick(
  ctx: KeyCtx,
  projectId: string,
  row: Row<'project_key'> | undefined,
  prepared: PreparedSecretBox | undefined,
) {
  if (prepared !== undefined && prepared.key.id === row?.id) return prepared.box
  return createSecretBox(ctx, projectId, row && keyOf(ctx, row))
}

/** A secret box with a cache, so that a transaction need not repeat the cryptography. */
export type PreparedSecretBox = { key: DataKey; box: SecretBox }

/** Prepares a secret box for a later transaction. Writes nothing: `openSecretBoxToWrite` writes a new data key. */
export async function prepareSecretBox(ctx: KeyCtx, projectId: string): Promise<PreparedSecretBox> {
  const [row] = await selectProjectKey(ctx.db, { projectId })
  const key = row === undefined ? newDataKey() : keyOf(ctx, row)
  return { key, box: memoized(createSecretBox(ctx, projectId, key)) }
}

/** Caches sealed and opened values, each for the same variable, version and text. */
function memoized(box: SecretBox): SecretBox {
  const versions = new Map<string, Map<number, { value: string; text: string }>>()
  const remember = (envId: string, version: number, value: string, text: string) => {
    const byVersion = versions.get(envId) ?? new Map()
    versions.set(envId, byVersion.set(version, { value, text }))
  }
  return {
    ...box,
    seal(envId, version, value) {
      const key = versions.get(envId)?.get(version)
      if (key?.value === value) return key.text
      const text = box.seal(envId, version, value)
      remember(envId, version, value, text)
      return text
    },
    open(envId, version, text) {
      const key = versions.get(envId)?.get(version)
      if (key?.text === text) return key.value
      const value = box.open(envId, version, text)
      if (value !== undefined) remember(envId, version, value, text)
      return value
    },
  }
}

/** A data key. `key`: undefined when it does not open. */
type DataKey = { id: string; key: KeyObject | undefined; rootKeyId?: string }

function newDataKey(): DataKey {
  return { id: `dk_${randomText(8)}`, key: toSecretKey(newKeyBytes()) }
}

function keyOf(ctx: KeyCtx, row: Row<'project_key'>): DataKey {
  return { id: row.id, key: unwrap(ctx, row), rootKeyId: row.root_key_id }
}

/** Writes a new data key, wrapped by the active root key. Returns the key of the project: another request may have been first. */
async function createDataKey(ctx: KeyCtx, projectId: string, { id, key }: DataKey) {
  const rootKeyId = await activeKeyId(ctx.db)
  const wrapped = wrap(ctx, projectId, id, rootKeyId, key!.export())
  await insertProjectKey(ctx.db, { projectId, id, rootKeyId, wrapped })
  const [row] = await selectProjectKey(ctx.db, { projectId })
  return row
}

function createSecretBox(ctx: KeyCtx, ownerId: string, dataKey: DataKey | undefined): SecretBox {
  const { key, id: keyId = '', rootKeyId } = dataKey ?? {}
  const sealAt = (place: Buffer, text: string) => {
    if (key === undefined) throw new Error(`the data key of ${ownerId} does not open`)
    return `${FORMAT}.${keyId}.${seal(key, Buffer.from(text), place)}`
  }
  const openAt = (place: Buffer, of: string, sealed: string) => {
    const [format, sealedBy, body] = sealed.split('.', 3)
    const isFound = format === FORMAT && key !== undefined && sealedBy === keyId
    if (ctx.secrets !== undefined) ctx.secrets.decrypted = true
    const text = isFound ? open(key, body ?? '', place)?.toString() : undefined
    if (text !== undefined) return text
    ctx.deps.log.error({ ownerId, of, keyId: sealedBy, rootKeyId }, 'a sealed value does not open')
    return undefined
  }
  const valuePlace = (envId: string, version: number) =>
    associatedData('env', ownerId, envId, 'value', String(version), keyId)
  return {
    seal: (envId, version, value) => sealAt(valuePlace(envId, version), value),
    open: (envId, version, sealed) => openAt(valuePlace(envId, version), envId, sealed),
    sealSecret: (kind, id, secret) => sealAt(associatedData(kind, ownerId, id, keyId), secret),
    openSecret: (kind, id, sealed) => openAt(associatedData(kind, ownerId, id, keyId), id, sealed),
  }
}

/** Rewraps a data key with another root key; values stay unchanged. Returns false when it does not open. */
export async function rewrap(ctx: KeyCtx, row: Row<'project_key'>, rootKeyId: string): Promise<boolean> {
  const key = unwrap(ctx, row)
  if (key === undefined) return false
  const wrapped = wrap(ctx, row.project_id, row.id, rootKeyId, key.export())
  await updateProjectKey(ctx.db, { projectId: row.project_id, rootKeyId, wrapped })
  return true
}

function wrap(ctx: KeyCtx, projectId: string, id: string, rootKeyId: string, bytes: Buffer): string {
  const root = ctx.deps.keyring.find(rootKeyId)
  if (root === undefined) {
    throw new Error(`the keyring ${ctx.deps.keyring.place} lacks the active root key ${rootKeyId}`)
  }
  return seal(root, bytes, keyPlace(projectId, id, rootKeyId))
}

function unwrap(ctx: KeyCtx, row: Row<'project_key'>): KeyObject | undefined {
  const { keyring } = ctx.deps
  const keys = unwrapped.get(keyring) ?? new Map<string, KeyObject>()
  unwrapped.set(keyring, keys)
  const name = `${row.project_id} ${row.id} ${row.root_key_id} ${row.wrapped_key}`
  const cached = keys.get(name)
  if (cached !== undefined) return cached
  const root = keyring.find(row.root_key_id)
  const bytes = root && open(root, row.wrapped_key, keyPlace(row.project_id, row.id, row.root_key_id))
  if (bytes === undefined) {
    const ids = { projectId: row.project_id, keyId: row.id, rootKeyId: row.root_key_id }
    ctx.deps.log.error(ids, root ? 'a project key does not open' : 'the keyring lacks the root key of a project key')
    return undefined
  }
  if (keys.size >= KEYS_KEPT) keys.clear()
  const key = toSecretKey(bytes)
  keys.set(name, key)
  return key
}

function keyPlace(projectId: string, id: string, rootKeyId: string): Buffer {
  return associatedData('project-key', projectId, id, rootKeyId)
}

const selectProjectKey = preparedQuery<{ projectId: string }, Row<'project_key'>>((db, value) =>
  db.selectFrom('project_key').selectAll().where('project_id', '=', value.projectId),
)

const insertProjectKey = preparedQuery<{ projectId: string; id: string; rootKeyId: string; wrapped: string }, unknown>(
  (db, value) =>
    db
      .insertInto('project_key')
      .values({ project_id: value.projectId, id: value.id, root_key_id: value.rootKeyId, wrapped_key: value.wrapped })
      .onConflict((conflict) => conflict.column('project_id').doNothing()),
)

const updateProjectKey = preparedQuery<{ projectId: string; rootKeyId: string; wrapped: string }, unknown>(
  (db, value) =>
    db
      .updateTable('project_key')
      .set({ root_key_id: value.rootKeyId, wrapped_key: value.wrapped })
      .where('project_id', '=', value.projectId),
)
