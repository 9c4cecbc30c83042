/** Enforces the budgets of `budgets.ts`: limits on the rows of an owner. docs/limits.md: Budgets. */
import { sql } from 'kysely'
import { BUDGETS, type Budget, type BudgetName } from '../../budgets.ts'
import type { Deps, OperatorCtx } from '../../context.ts'
import { type Db, preparedQuery, type Queries } from '../db/db.ts'
import { refuse } from '../refusals/refusal.ts'

/** With fewer free rows, a budget on PostgreSQL is counted within the transaction. Larger than the number of writes in flight. */
const NEAR = 1000
/** On PostgreSQL an instance uses up to 1/PART of the free rows before it counts again, because others write too. */
const PART = 64
const SEEN_MS = 10_000
const MAX_SEEN = 10_000

/** Lower bound of free rows per owner, as last counted by this process. */
type Room = { rows: number; until: number }
const ROOMS = new WeakMap<Db, Map<string, Room>>()

type Ctx = Pick<OperatorCtx, 'db' | 'deps'>

/**
 * Checks a budget. Call it after the insert for `owner` (an account or a user), in the same transaction. Refuses as the budget says: budget_used_up
 * 409, too_many_teams 409, too_many_invitations 409.
 */
export async function mustFit(ctx: Ctx, name: BudgetName, owner: string): Promise<void> {
  if (!(await fits(ctx, name, owner, 0))) refuseFull(ctx.deps, name)
}

/** Whether `coming` more rows fit, including those of this transaction. */
export async function fits(ctx: Ctx, name: BudgetName, owner: string, coming: number): Promise<boolean> {
  const max = maxOf(ctx.deps, name)
  if (max === null) return true
  const rooms = roomsOf(ctx.deps.db)
  const key = `${name} ${owner}`
  const added = Math.max(coming, 1)
  const room = rooms.get(key)
  if (room !== undefined && room.rows >= added && room.until > performance.now()) {
    room.rows -= added
    return true
  }
  const { autocommit } = ctx.deps.db
  // A count within a PostgreSQL transaction conflicts with every insert of the owner, so it runs only close to the limit.
  if (autocommit !== undefined && max > NEAR) {
    const rows = await countRows(autocommit, name, owner, max - NEAR)
    if (rows + added <= max - NEAR) {
      note(rooms, key, Math.floor((max - NEAR - rows - added) / PART))
      return true
    }
  }
  const rows = await countRows(ctx.db, name, owner, max)
  if (rows + coming > max) return false
  if (autocommit === undefined) note(rooms, key, max - rows - coming)
  return true
}

/** Refuses with a message that names what to remove. */
export function refuseFull(deps: Pick<Deps, 'config'>, name: BudgetName): never {
  const { of, what, remedy, refusal }: Budget = BUDGETS[name]
  const max = maxOf(deps, name) ?? 0
  refuse(refusal, `The ${of} has ${max.toLocaleString('en')} ${what}, the maximum. ${remedy}`, { name })
}

function maxOf({ config }: Pick<Deps, 'config'>, name: BudgetName): number | null {
  const set = config.budgets[name]
  return set === undefined ? BUDGETS[name].max : set
}

function roomsOf(db: Db): Map<string, Room> {
  const rooms = ROOMS.get(db) ?? new Map<string, Room>()
  ROOMS.set(db, rooms)
  return rooms
}

function note(rooms: Map<string, Room>, key: string, rows: number): void {
  if (rooms.size >= MAX_SEEN) rooms.clear()
  rooms.set(key, { rows, until: performance.now() + SEEN_MS })
}

type Count = (db: Queries, value: { owner: string }) => Promise<{ rows: number }[]>
const COUNTS = new Map<string, Count>()

/** Counts the rows of an owner in an index, up to one beyond `max`. */
async function countRows(db: Queries, name: BudgetName, owner: string, max: number): Promise<number> {
  const key = `${name} ${max}`
  const count = COUNTS.get(key) ?? counting(BUDGETS[name], max)
  COUNTS.set(key, count)
  const [row] = await count(db, { owner })
  return Number(row!.rows)
}

function counting({ table, owner, where }: Budget, max: number): Count {
  return preparedQuery<{ owner: string }, { rows: number }>((db, value) =>
    db
      .selectFrom((eb) => {
        const rows = eb
          .selectFrom(table as 'project')
          .select(sql.lit(1).as('one'))
          .where(sql.ref(owner), '=', value.owner)
          .limit(sql.lit(max + 1))
        return (where === undefined ? rows : rows.where(sql<boolean>`${sql.raw(where)}`)).as('some')
      })
      .select(({ fn }) => fn.countAll<number>().as('rows')),
  )
}
