/** Changes all mappings of an alias request in steps: there is one for each of up to 50,000 production domains. */
import { changeInSteps } from '../../platform/db/chunks.ts'
import type { Queries } from '../../platform/db/db.ts'

/** Mappings per step: some milliseconds. */
const STEP = 500

/** Deletes the mappings of a deleted request. */
export function deleteMappings(db: Queries, requestId: string): Promise<void> {
  return inSteps(db, requestId, (after, end) =>
    db
      .deleteFrom('alias_mapping')
      .where('request_id', '=', requestId)
      .where('place', '>', after)
      .where('place', '<=', end)
      .execute(),
  )
}

/** Fails the mappings of a request that are not done. */
export function failMappings(db: Queries, requestId: string): Promise<void> {
  return inSteps(db, requestId, (after, end) =>
    db
      .updateTable('alias_mapping')
      .set({ status: 'failed' })
      .where('request_id', '=', requestId)
      .where('place', '>', after)
      .where('place', '<=', end)
      .where('status', 'in', ['pending', 'in-progress'])
      .execute(),
  )
}

function inSteps(
  db: Queries,
  requestId: string,
  change: (after: number, end: number) => Promise<unknown>,
): Promise<void> {
  return changeInSteps(
    async (after) => {
      const [last] = await db
        .selectFrom('alias_mapping')
        .select('place')
        .where('request_id', '=', requestId)
        .where('place', '>', after)
        .orderBy('place')
        .offset(STEP - 1)
        .limit(1)
        .execute()
      return last?.place
    },
    ({ after, end = Number.MAX_SAFE_INTEGER }) => change(after, end),
  )
}
