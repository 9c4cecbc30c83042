/** Writes of forms with a transaction of their own. They have the budgets of routes. docs/limits.md: Budgets. */
import type { Caller, OperatorCtx } from '../../context.ts'
import { createSpending, spendWrite, type Taken } from '../limiter/spending.ts'
import { fieldsOf, type PendingEvent, recordWrite } from './outbox.ts'

/** `by`: the author, with the account if it is of one. `fields`: names of sent fields, never values; all of the form if absent. */
type FormWrite = { by: OperatorCtx & { caller?: Caller }; subjectId: string | null; fields?: string[] }

/** Writes the events of a form and its audit entry, from the budgets of its account. `taken`: as of `createSpending`. Refuses: rate_limited 429. */
export async function recordForm(
  outgoing: PendingEvent[],
  name: string,
  form: unknown,
  { by, subjectId, fields = fieldsOf(form) }: FormWrite,
  taken: Taken,
): Promise<void> {
  const bytes = await recordWrite(by, outgoing, name, subjectId, fields)
  // Apart from the personal account: its tokens cannot use up the sign-ins of their user.
  const owner = by.caller?.account.id ?? `forms of ${by.actor.id}`
  await spendWrite(createSpending(by.deps.limits, owner, by.now, taken), bytes, by.now)
}
