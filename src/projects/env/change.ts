import type { Row } from '../../platform/db/schema.ts'

export type Variable = Row<'env_var'>

/** A variable before and after a change. Created without `before`, deleted without `after`. `fields`: names of changed fields. */
export type VariableChange = {
  before?: Variable
  after?: Variable
  fields: readonly string[]
  action: Row<'env_history'>['action']
}
