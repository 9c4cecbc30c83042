/** From what a request says of a variable to what is to be stored. */
import type { Ctx } from '../context.ts'
import type { Row } from '../db/schema.ts'
import { refuse } from '../refusal.ts'
import type { PutDraft } from './put.ts'
import { mustBeVariable, mustTouch, targetsOf, typeIn } from './rules.ts'
import { MOST_VARIABLES, type NewVariable } from './schema.ts'

/** The drafts of a create, each one checked: one thing wrong anywhere refuses the request whole, naming the item. */
export function createDrafts(
  ctx: Ctx,
  project: Row<'project'>,
  body: NewVariable | readonly NewVariable[],
): PutDraft[] {
  const many = Array.isArray(body)
  const items: readonly NewVariable[] = many ? body : [body as NewVariable]
  if (items.length > MOST_VARIABLES) refuse('env_too_many')
  return items.map((item, at) => {
    const where = many ? `Item ${at}: ` : ''
    const wanted = draftOf(project, item, where)
    const draft = { ...wanted, type: typeIn(ctx.account, wanted.type, wanted.targets) }
    mustBeVariable(draft, where)
    mustTouch(ctx.who, draft.targets)
    return draft
  })
}

/** The draft of an item. No type is `encrypted`; no branch, and an empty one, is every branch. Refuses as `targetsOf` does. */
export function draftOf(project: Row<'project'>, item: NewVariable, where = ''): PutDraft {
  return {
    key: item.key,
    value: item.value,
    type: item.type ?? 'encrypted',
    keepType: item.type === undefined,
    targets: targetsOf(project, item, where),
    gitBranch: item.gitBranch ?? '',
    extras: {
      ...(item.comment !== undefined && { comment: item.comment || null }),
      ...(item.edgeConfigId !== undefined && { edge_config_id: item.edgeConfigId }),
      ...(item.edgeConfigTokenId !== undefined && { edge_config_token_id: item.edgeConfigTokenId }),
      ...(item.contentHint !== undefined && {
        content_hint_json: item.contentHint && JSON.stringify(item.contentHint),
      }),
    },
  }
}
