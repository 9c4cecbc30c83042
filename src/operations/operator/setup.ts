/** What an operator sets up before users come: what the service sees of it, and what the operator says is done. docs/console.md: Operator. */
import type { Static } from 'typebox'
import type { Input, OperatorCtx } from '../../context.ts'
import { operatorRoute } from '../../platform/http/route.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { OneOf } from '../../platform/schema/fields.ts'
import { readKeyringCopyStatus } from '../../platform/secrets/keyring-copy.ts'

const tag = 'operator'

/** TABLE Steps in the order of the list, and whether the service sees that one is done. */
const STEPS = {
  backups: ({ deps }: OperatorCtx) => deps.config.backups.schedule !== undefined,
  keyring: async ({ db }: OperatorCtx) => (await readKeyringCopyStatus(db)).missing.length === 0,
  address: ({ deps }: OperatorCtx) => deps.config.publicUrl !== undefined,
  sites: ({ deps }: OperatorCtx) => deps.config.domains.platformSuffix !== undefined,
  builds: ({ deps }: OperatorCtx) => deps.config.builds.mode !== 'off',
  mail: ({ deps }: OperatorCtx) => deps.config.mail.smtp !== undefined,
  team: hasColleagues,
} as const
export type SetupStep = keyof typeof STEPS
const NAMES = Object.keys(STEPS) as SetupStep[]
/** Acknowledged as a step is, for all that is left. */
const WHOLE = 'all'

export const Setup = Type.Object({
  dismissed: Type.Boolean({ description: 'an operator said that the rest is not needed' }),
  steps: Type.Array(Type.Object({ step: OneOf(...NAMES), state: OneOf('done', 'acknowledged', 'open') }), {
    description: 'in the order in which to do them; `acknowledged`: an operator said that it is done or not needed',
  }),
})

export const setupRoutes = [
  operatorRoute({
    method: 'GET',
    path: '/operator/v1/setup',
    operationId: 'operatorGetSetup',
    summary: 'List what to set up before users come, and what of it is done',
    tag,
    run: showSetup,
    list: { rows: 20, rowBytes: 1024 },
    status: 200,
    reply: Setup,
  }),
  operatorRoute({
    method: 'PUT',
    path: '/operator/v1/setup/:step',
    operationId: 'operatorAcknowledgeSetup',
    summary: 'Say that a step of the setup is done or not needed; `all` says it of the whole list',
    tag,
    run: acknowledge,
    refuses: ['not_found'],
    status: 204,
  }),
]

async function showSetup(ctx: OperatorCtx): Promise<Static<typeof Setup>> {
  const facts = await ctx.db
    .selectFrom('fact')
    .select('name')
    .where('name', 'in', [...NAMES, WHOLE].map(factOf))
    .execute()
  const acknowledged = new Set(facts.map(({ name }) => name))
  const stateOf = async (step: SetupStep) => {
    if (await STEPS[step](ctx)) return 'done'
    return acknowledged.has(factOf(step)) ? 'acknowledged' : 'open'
  }
  const steps = await Promise.all(NAMES.map(async (step) => ({ step, state: await stateOf(step) }) as const))
  return { dismissed: acknowledged.has(factOf(WHOLE)), steps }
}

/** Records when an operator acknowledged a step, once. Refuses: not_found 404. */
async function acknowledge({ db, now }: OperatorCtx, _: undefined, { params }: Input) {
  const step = params.step!
  if (![...NAMES, WHOLE].includes(step)) refuse('not_found', 'The setup has no such step.')
  await db
    .insertInto('fact')
    .values({ name: factOf(step), value: String(now) })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
}

function factOf(step: string): string {
  return `setup_${step}`
}

/** The first start makes one team with one member. */
async function hasColleagues({ db }: OperatorCtx): Promise<boolean> {
  const some = await db.selectFrom('member').select('team_id').orderBy('team_id').limit(2).execute()
  return some.length > 1
}
