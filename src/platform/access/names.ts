/** What an operator calls an account by: its id, slug, username or email. One place, for every operator route. docs/operations.md: People. */
import type { Input } from '../../context.ts'
import type { Queries } from '../db/db.ts'

/** TABLE the fields of paths, queries and bodies that name an account, and of which kind; null: of either. */
const FIELDS: Readonly<Record<string, 'user' | 'team' | null>> = {
  userId: 'user',
  ownerId: 'user',
  teamId: 'team',
  defaultTeamId: 'team',
  accountId: null,
  actorId: null,
}

/** The same input with ids where names stood. A name that nobody has stays: the operation says that there is none. */
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

/** No slug looks like an id, and none holds an "@". */
async function findId(db: Queries, idOrName: string, kind: 'user' | 'team' | null): Promise<string | undefined> {
  if (/^(usr|team)_/.test(idOrName)) return idOrName
  const name = idOrName.toLowerCase()
  let accounts = db.selectFrom('account').select('id')
  accounts = accounts.where(name.includes('@') ? 'email' : 'slug', '=', name)
  if (kind !== null) accounts = accounts.where('kind', '=', kind)
  return (await accounts.executeTakeFirst())?.id
}
