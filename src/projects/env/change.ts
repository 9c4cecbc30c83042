/** A change of variables, as it is stored and recorded. */
import type { Row } from '../../platform/db/schema.ts'

export type Variable = Row<'env_var'>

/** A variable before and after: without `before` it is made, without `after` it is removed. `fields`: the names of those that differ. */
export type VariableChange = {
  before?: Variable
  after?: Variable
  fields: readonly string[]
  action: Row<'env_history'>['action']
}
