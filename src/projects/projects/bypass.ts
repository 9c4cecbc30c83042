/** Secrets for automation to bypass a project's protection. docs/spec/wire.md 2.2 and 6; docs/edge.md: Who sees bypass secrets. */
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { changeProject } from '../../model/project.ts'
import { fingerprint, randomText } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { OneOf, Timestamp } from '../../platform/schema/fields.ts'
import { openSecretBox, openSecretBoxToWrite } from '../../platform/secrets/data-keys.ts'
import { type BypassEntry, bypassOf } from '../../platform/verdict/protection.ts'

const LENGTH = 32
const MOST = 20

const Note = Type.String({ maxLength: 100 })
const Secret = Type.String({ pattern: '^[A-Za-z0-9]{32}$', description: '32 letters and digits' })
export const UpdateBypass = Type.Object({
  revoke: Type.Optional(
    Type.Object({
      secret: Type.String({ minLength: 1, maxLength: 256 }),
      regenerate: Type.Optional(Type.Boolean({ description: 'make another one in its place' })),
    }),
  ),
  generate: Type.Optional(Type.Object({ secret: Type.Optional(Secret), note: Type.Optional(Note) })),
  update: Type.Optional(
    Type.Object({
      secret: Type.String({ minLength: 1, maxLength: 256 }),
      isEnvVar: Type.Optional(
        Type.Boolean({ description: '`true`: the one that new deployments get as VERCEL_AUTOMATION_BYPASS_SECRET' }),
      ),
      note: Type.Optional(Note),
    }),
  ),
})
type UpdateBypass = Static<typeof UpdateBypass>

const BypassReply = Type.Object({
  createdAt: Timestamp,
  createdBy: Type.String(),
  scope: OneOf('automation-bypass'),
  isEnvVar: Type.Optional(Type.Boolean()),
  note: Type.Optional(Type.String()),
  // Always empty. Without them, SDKs from 1.19 on decode a listed project as its smaller shape. docs/clients.md: Rationale.
  integrationId: OneOf(''),
  configurationId: OneOf(''),
})
export const ProtectionBypass = Type.Unsafe<Record<string, Static<typeof BypassReply>>>({
  type: 'object',
  additionalProperties: BypassReply,
  description: 'by secret; shown to those who may change the project',
})
export const BypassAnswer = Type.Object({ protectionBypass: ProtectionBypass })

/** Returns the plaintext secrets to callers who may change the project; undefined for others, and without secrets. */
export async function showBypass(
  ctx: Ctx,
  project: Row<'project'>,
): Promise<Static<typeof ProtectionBypass> | undefined> {
  if (project.bypass_json === null || !ctx.caller.permissions.has('project:write')) return undefined
  const box = await openSecretBox(ctx, project.id)
  const reply: Static<typeof ProtectionBypass> = {}
  for (const { hash, sealed, ...fields } of bypassOf(project)) {
    const secret = box.openSecret('protection-bypass', hash, sealed)
    if (secret !== undefined)
      reply[secret] = { ...fields, scope: 'automation-bypass', integrationId: '', configurationId: '' }
  }
  return reply
}

/**
 * Revokes, creates or updates a bypass secret. An empty request creates one, as the SDK documents. Writes the project row once,
 * so that concurrent requests lose no change. Refuses: not_found 404 (no such secret), bypass_exists 409, bad_request 400 (too
 * many).
 */
export async function updateBypass(
  ctx: Ctx,
  project: Row<'project'>,
  { body }: Input<unknown, UpdateBypass>,
): Promise<Static<typeof BypassAnswer> & { id: string }> {
  const { revoke, update, generate = revoke || update ? undefined : {} } = body
  let entries = bypassOf(project)
  if (revoke) {
    const { hash, note, isEnvVar } = entryOf(entries, revoke.secret)
    entries = entries.filter((entry) => entry.hash !== hash)
    // The new one takes its place in the next deployments.
    if (revoke.regenerate) {
      const entry = await newEntry(ctx, project, randomText(LENGTH), note)
      entries.push({ ...entry, ...(isEnvVar !== undefined && { isEnvVar }) })
    }
  }
  if (generate) {
    const entry = await newEntry(ctx, project, generate.secret ?? randomText(LENGTH), generate.note)
    if (entries.some(({ hash }) => hash === entry.hash)) refuse('bypass_exists')
    entries.push(entry)
  }
  if (update) entries = changed(entries, update)
  if (entries.length > MOST) refuse('bad_request', `Invalid request: a project has at most ${MOST} bypass secrets.`)
  const bypass_json = entries.length === 0 ? null : JSON.stringify(entries)
  const row = await changeProject(ctx, project, { bypass_json })
  return { id: row.id, protectionBypass: (await showBypass(ctx, row)) ?? {} }
}

/** Refuses: not_found 404. */
function entryOf(entries: readonly BypassEntry[], secret: string): BypassEntry {
  const hash = fingerprint(secret)
  return entries.find((entry) => entry.hash === hash) ?? refuse('not_found', 'The project has no such bypass secret.')
}

/** Applies the body to a secret. At most one is the variable of deployments. */
function changed(
  entries: readonly BypassEntry[],
  { secret, isEnvVar, note }: NonNullable<UpdateBypass['update']>,
): BypassEntry[] {
  const { hash } = entryOf(entries, secret)
  return entries.map((entry) => {
    if (entry.hash !== hash) return isEnvVar ? { ...entry, isEnvVar: false } : entry
    return { ...entry, ...(isEnvVar !== undefined && { isEnvVar }), ...(note !== undefined && { note }) }
  })
}

async function newEntry(
  ctx: Ctx,
  project: Row<'project'>,
  secret: string,
  note: string | undefined,
): Promise<BypassEntry> {
  const box = await openSecretBoxToWrite(ctx, project.id)
  const hash = fingerprint(secret)
  const sealed = box.sealSecret('protection-bypass', hash, secret)
  return { hash, sealed, createdAt: ctx.now, createdBy: ctx.caller.userId, ...(note !== undefined && { note }) }
}
