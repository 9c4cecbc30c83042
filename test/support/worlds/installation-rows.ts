/** Integrations and installations inserted into the store directly, for tests of later changes to them. */
import type { EventAccount, OperatorCtx } from '../../../src/context.ts'
import { fingerprint, newId, newToken } from '../../../src/platform/base/ids.ts'
import type { Row } from '../../../src/platform/db/schema.ts'
import { type PendingEvent, toPendingEvent, writeEvents } from '../../../src/platform/outbox/outbox.ts'
import type { Service } from '../../../src/service.ts'
import type { World } from '../world.ts'

type Place = Pick<Service, 'deps'>

/** A new integration of the first team. */
export async function seedIntegration(
  world: World,
  scopes: string[],
  name = 'Lighthouse',
): Promise<Row<'integration'>> {
  const row: Row<'integration'> = {
    id: newId('oac'),
    team_id: world.credentials.teamId,
    slug: `i${newId('oac').slice(4).toLowerCase()}`,
    name,
    redirect_url: 'https://app.example/callback',
    logo_url: null,
    scopes_json: JSON.stringify(scopes),
    created_stamp: world.deps.clock.stamp(),
    updated_at: world.deps.clock.now(),
  }
  await world.deps.db.write((db) => db.insertInto('integration').values(row).execute())
  return row
}

export type InstalledApp = { configuration: Row<'configuration'>; token: string }

/** An installation of it with a token, and a code that was used to get it. */
export async function consentAndInstall(
  { deps }: Place,
  integration: Row<'integration'>,
  {
    userId,
    account,
    scopes,
    projects = 'all',
  }: {
    userId: string
    account: EventAccount
    scopes?: string[]
    projects?: 'all' | string[]
  },
): Promise<InstalledApp> {
  const now = deps.clock.now()
  const token = newToken()
  const tokenId = newId('tok')
  const configuration: Row<'configuration'> = {
    id: newId('icfg'),
    integration_id: integration.id,
    account_id: account.id,
    user_id: userId,
    scopes_json: scopes ? JSON.stringify(scopes) : integration.scopes_json,
    project_selection: projects === 'all' ? 'all' : 'selected',
    source: 'external',
    created_stamp: deps.clock.stamp(),
    updated_at: now,
    completed_at: now,
    disabled_at: null,
    disabled_reason: null,
    resumed_at: null,
    deleted_at: null,
  }
  await deps.db.write(async (db) => {
    await db.insertInto('configuration').values(configuration).execute()
    for (const project_id of projects === 'all' ? [] : projects)
      await db.insertInto('configuration_project').values({ configuration_id: configuration.id, project_id }).execute()
    await db
      .insertInto('token')
      .values({
        id: tokenId,
        hash: fingerprint(token),
        user_id: userId,
        team_id: account.kind === 'team' ? account.id : null,
        name: null,
        scopes_json: null,
        project_ids_json: null,
        expires_at: null,
        created_stamp: deps.clock.stamp(),
        configuration_id: configuration.id,
      })
      .execute()
    await db
      .insertInto('authorization_code')
      .values({
        hash: fingerprint(newToken()),
        configuration_id: configuration.id,
        integration_id: integration.id,
        user_id: userId,
        redirect_uri: integration.redirect_url,
        code_challenge: null,
        expires_at: now + 1_800_000,
        used_stamp: deps.clock.stamp(),
        token_id: tokenId,
      })
      .execute()
  })
  return { configuration, token }
}

/** Does as an operation of a timer or the operator does: one transaction with its events. */
export function asOperation<T>({ deps }: Place, work: (ctx: OperatorCtx) => Promise<T>): Promise<T> {
  return deps.db.write(async (db) => {
    const outgoing: PendingEvent[] = []
    const emit: OperatorCtx['emit'] = (...said) => void outgoing.push(toPendingEvent(...said))
    const actor = { kind: 'operator', id: 'operator', tokenId: null } as const
    const ctx = { actor, db, now: deps.clock.now(), stamp: deps.clock.stamp(), deps, emit }
    const done = await work(ctx)
    await writeEvents(ctx, outgoing)
    return done
  })
}

/** The events of these kinds, oldest first. */
export async function eventsOf({ deps }: Place, prefix: string) {
  const rows = await deps.db.read.selectFrom('event').selectAll().orderBy('stamp').execute()
  return rows
    .filter((row) => row.type.startsWith(prefix))
    .map((row) => ({ ...row, payload: JSON.parse(row.payload_json) }))
}

export function configurationNow({ deps }: Place, id: string): Promise<Row<'configuration'>> {
  return deps.db.read.selectFrom('configuration').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
}
