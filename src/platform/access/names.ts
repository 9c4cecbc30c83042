/** Resolves what an operator calls an account by: id, slug, username or email. docs/operations.md: User administration. */
import type { Input } from '../../context.ts'
import type { Queries } from '../db/db.ts'

/** TABLE Fields of paths, queries and bodies that name an account → its kind; null: either */
const FIELDS: Readonly<Record<string, 'user' | 'team' | null>> = {
  userId: 'user',
  ownerId: 'user',
  teamId: 'team',
  defaultTeamId: 'team',
  accountId: null,
  actorId: null,
}

/** Returns the input with ids for names. Unknown names stay, so that the operation returns its 404. */
export async function resolveNames(db: Queries, input: Input): Promise<Input> {
  const [params, query, body] = [
    await resolveIn(db, input.params),
    await resolveIn(db, input.query),
    await resolveIn(db, input.body),
  ]
  return { ...input, params, query, body }
}

async function resolveIn<T>(db: Queries, values: T): Promise<T> {
  if (typeof values !== 'object' || values === null || Array.isArray(values)) return values
  const resolved: Record<string, unknown> = Object.fromEntries(Object.entries(values))
  for (const [name, value] of Object.entries(values)) {
    const kind = FIELDS[name]
    if (kind !== undefined && typeof value === 'string') resolved[name] = (await findId(db, value, kind)) ?? value
  }
  return resolved as T
}

/** A slug never looks like an id and never contains an "@". */
async function findId(db: Queries, idOrName: string, kind: 'user' | 'team' | null): Promise<string | undefined> {
  if (/^(usr|team)_/.test(idOrName)) return idOrName
  const name = idOrName.toLowerCase()
  let accounts = db.selectFrom('account').select('id')
  accounts = accounts.where(name.includes('@') ? 'email' : 'slug', '=', name)
  if (kind !== null) accounts = accounts.where('kind', '=', kind)
  return (await accounts.executeTakeFirst())?.id
}
