import type { Caller, EventAccount, EventContext, OperatorCtx } from '../../context.ts'
import type { EventName } from '../../events.ts'
import { newId } from '../base/ids.ts'
import { preparedInsert } from '../db/bulk.ts'
import { appendAuditEntry } from './audit-chain.ts'
import { fanOut } from './fan-out.ts'

export type PendingEvent = { type: EventName; payload: object; about: EventContext; owner: EventAccount | undefined }

/** Returns the pending form of an emitted event, stored until the operation ends. */
export function toPendingEvent(
  type: EventName,
  payload: object,
  about: string | EventContext,
  owner: EventAccount | undefined,
): PendingEvent {
  return { type, payload, about: typeof about === 'string' ? { projectId: about } : about, owner }
}

const insertEvent = preparedInsert('event')

/**
 * Writes the events of an operation and its audit entry. `fields`: names of sent fields, never values. `projectId`: the project that it is about.
 * Returns the bytes of the events.
 */
export async function recordWrite(
  ctx: OperatorCtx & { caller?: Caller },
  outgoing: PendingEvent[],
  type: string,
  subjectId: string | null,
  fields: string[],
  projectId: string | null = null,
): Promise<number> {
  const bytes = await writeEvents(ctx, outgoing)
  await appendAuditEntry(ctx, {
    stamp: ctx.stamp,
    account_id: ctx.caller?.account.id ?? null,
    actor_kind: ctx.actor.kind,
    actor_id: ctx.actor.id,
    token_id: ctx.actor.tokenId,
    type,
    subject_id: subjectId,
    fields_json: JSON.stringify(fields),
    project_id: projectId ?? projectOfEvents(outgoing),
  })
  return bytes
}

/** The project of all events, where it is one. */
function projectOfEvents(outgoing: readonly PendingEvent[]): string | null {
  const [id, ...others] = new Set(outgoing.flatMap(({ about }) => about.projectId ?? []))
  return others.length === 0 ? (id ?? null) : null
}

/**
 * Merges the events of one bulk request about variables: one event per kind of change, project and creator, with all variables in `envVars`. One
 * delivery per variable would let a small request occupy the queue of all accounts.
 */
function mergeVariableEvents(outgoing: readonly PendingEvent[]): PendingEvent[] {
  const groups = Map.groupBy(outgoing, (event) => ('envVar' in event.payload ? groupOf(event) : event))
  return [...groups.values()].map((group) => {
    const [first] = group as [PendingEvent]
    if (group.length === 1) return first
    const envVars = group.map(({ payload }) => (payload as { envVar: object }).envVar)
    return { ...first, payload: { ...first.payload, envVars } }
  })
}

function groupOf({ type, about, owner }: PendingEvent): string {
  return [type, owner?.id, about.projectId, about.createdBy].join()
}

/** The size of a delivery with its attempts in the event budget. */
const DELIVERY_BYTES = 512

/** Writes events, and a delivery for each subscribed endpoint. The acting user is named only to the account they acted for. Returns the total bytes. */
export async function writeEvents(
  ctx: Pick<OperatorCtx, 'db' | 'deps'> & { caller?: Caller },
  outgoing: PendingEvent[],
): Promise<number> {
  let bytes = 0
  const account = ctx.caller?.account
  for (const { type, payload, about, owner = account } of mergeVariableEvents(outgoing)) {
    if (owner === undefined) throw new Error(`the event ${type} has no account to receive it`)
    const team = { id: owner.kind === 'team' ? owner.id : null }
    const user = { id: owner.id === account?.id ? actingUser(ctx.caller) : null }
    const stamp = ctx.deps.clock.stamp()
    const text = JSON.stringify({ team, user, ...payload })
    await insertEvent(ctx.db, {
      id: newId('evt'),
      account_id: owner.id,
      project_id: about.projectId ?? null,
      configuration_id: about.installationId ?? null,
      made_by: about.createdBy ?? null,
      type,
      payload_json: text,
      stamp,
    })
    bytes += text.length + DELIVERY_BYTES * (await fanOut(ctx, { type, about, owner, stamp }))
  }
  return bytes
}

/** Null for an installation: it acts alone, though it has an owner. */
function actingUser(caller: Caller | undefined): string | null {
  return caller === undefined || caller.installationId !== null ? null : caller.userId
}

/** Writes the events of `work` at once, so that current subscribers receive them, not those at the end of the operation. */
export async function writeEventsOf(ctx: OperatorCtx, work: (ctx: OperatorCtx) => Promise<void>): Promise<void> {
  const outgoing: PendingEvent[] = []
  await work({ ...ctx, emit: (...event) => void outgoing.push(toPendingEvent(...event)) })
  await writeEvents(ctx, outgoing)
}

/** Returns the names of the fields in a request, for one item or several. It never returns a value. */
export function fieldsOf(body: unknown): string[] {
  const items = Array.isArray(body) ? body : [body]
  const names = items.flatMap((item) => (typeof item === 'object' && item !== null ? Object.keys(item) : []))
  return [...new Set(names)]
}
