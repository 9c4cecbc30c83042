/**
 * States of the store that no operation gives to a test. Each is set here, by SQL, and says why. What an operation can set is set by it.
 * test/project/style.test.ts refuses writes by SQL elsewhere. docs/testing.md: Initial data.
 */
import { insertRows } from '../../src/platform/db/bulk.ts'
import type { Row, Schema } from '../../src/platform/db/schema.ts'
import type { World } from './world.ts'

type Store = Pick<World, 'deps'>
type Table = keyof Schema & string
type Columns<T extends Table> = { [C in keyof Row<T>]?: Row<T>[C] | undefined }
type DisabledReason = Row<'configuration'>['disabled_reason']

/** Adds rows, all of the same columns. By requests it would take minutes, and some rows are of an earlier version that allowed them. */
export async function addRows<T extends Table>({ deps }: Store, table: T, rows: readonly Columns<T>[]): Promise<void> {
  await deps.db.write((tx) => insertRows(tx, table, rows as Row<T>[]))
}

/** Writes columns of the rows that have these values, as only an attacker with access to the database can. */
export async function tamper<T extends Table>(
  { deps }: Store,
  table: T,
  columns: Columns<T>,
  where: Columns<T> = {},
): Promise<void> {
  await change(deps, table, columns, where)
}

/** Marks every domain of projects and accounts as verified. Verification needs a DNS server, which tests of other features omit. */
export async function markDomainsVerified({ deps }: Store): Promise<void> {
  await change(deps, 'project_domain', { verified_at: 1 }, { verified_at: null })
  await change(deps, 'account_domain', { proven_at: 1 }, { proven_at: null })
}

/** Leases the turns of domain checks as an instance that dies with them. A check that runs gives its turn back. */
export async function leaseDomainTurns({ deps }: Store, until: number): Promise<void> {
  await change(deps, 'domain_turn', { due_at: until })
}

/** Takes a name as one that came with a project. Only a transfer of the project does that, with a second account. */
export async function setInherited({ deps }: Store, name: string): Promise<void> {
  await change(deps, 'project_domain', { inherited_at: 1 }, { name })
}

/** Deletes all released verifications. Otherwise they count for their account for 30 days. */
export async function clearReleasedProofs({ deps }: Store): Promise<void> {
  await deps.db.write((tx) => tx.deleteFrom('released_proof').execute())
}

/** Stops a project in the middle of a transfer, or ends that state with null. The operation passes through this state at once. */
export async function setInTransfer({ deps }: Store, id: string, at: number | null): Promise<void> {
  const transfer_to_account_id = at === null ? null : 'team_x'
  await change(deps, 'project', { transfer_started_at: at, transfer_to_account_id }, { id })
}

/** Leaves all outputs as a process that dies while it writes them before their deployments, begun at a given time. No operation stops there. */
export async function cutOffOutputs({ deps }: Store, begunAt: number): Promise<void> {
  await change(deps, 'deployment', { output_id: null })
  await change(deps, 'output', { refs: 0, sha256: `being written ${begunAt} x` })
}

/** Ends the transfer of a project where it is. The operation moves the project, so its former account would not see it. */
export async function endTransfer({ deps }: Store, id: string): Promise<void> {
  await change(deps, 'project', { transfer_completed_at: 6 }, { id })
}

/** Deletes only an account. The operation refuses during a transfer to it. */
export async function removeAccount({ deps }: Store, id: string): Promise<void> {
  await deps.db.write((tx) => tx.deleteFrom('account').where('id', '=', id).execute())
}

/** Gives all accounts one name, also one that operations refuse. An earlier version allowed it. */
export async function nameAccounts({ deps }: Store, name: string): Promise<void> {
  await change(deps, 'account', { name })
}

/** Links a project to a repository with an id and an address, which only the servers of GitLab and Bitbucket provide. */
export async function linkRepository({ deps }: Store, name: string, repo: string, repoId: string): Promise<void> {
  await change(deps, 'project', { repo, repo_id: repoId, repo_url: `https://git.example.com/${repo}` }, { name })
}

/** Gives a project settings larger than a request allows. An earlier version allowed them. */
export async function setSettings({ deps }: Store, name: string, settings: object): Promise<void> {
  await change(deps, 'project', { settings_json: JSON.stringify(settings) }, { name })
}

/** Gives all projects last updated before a stamp the same settings, in one statement: by requests it would take minutes. */
export async function setSettingsBefore({ deps }: Store, stamp: number, settings: object): Promise<void> {
  const settings_json = JSON.stringify(settings)
  await deps.db.write((tx) =>
    tx.updateTable('project').set({ settings_json }).where('updated_stamp', '<', stamp).execute(),
  )
}

/** Disables only an installation, at a given time or now. Operations do it only with a change of its owner's place in the team. */
export async function disableInstallation(
  { deps }: Store,
  id: string,
  reason: DisabledReason = null,
  at = deps.clock.now(),
): Promise<void> {
  await change(deps, 'configuration', { disabled_at: at, disabled_reason: reason }, { id })
}

/** Enables a disabled installation. The operation assigns another owner too. */
export async function enableInstallation({ deps }: Store, id: string): Promise<void> {
  const resumed_at = deps.clock.now()
  await change(deps, 'configuration', { disabled_at: null, disabled_reason: null, resumed_at }, { id })
}

/** Changes the grant of an installation without the users, pages and emails that otherwise take part in it. */
export async function setGrant(
  { deps }: Store,
  id: string,
  { scopes, selection }: { scopes?: string[]; selection?: 'all' | 'selected' },
): Promise<void> {
  const columns = { scopes_json: scopes && JSON.stringify(scopes), project_selection: selection }
  await change(deps, 'configuration', columns, { id })
}

/** Sets the identity of a user at a single sign-on provider. Otherwise they sign in there, which needs a provider. */
export async function seedIdentity(world: Store, user_id: string): Promise<void> {
  const nobodyAsks = { refresh_token: null, checked_at: 1, due_at: null, ended_at: null }
  await addRows(world, 'identity', [{ issuer: 'https://login.example.com', sub: user_id, user_id, ...nobodyAsks }])
}

/** Puts only a drain on hold. Operations do it only with a change of its owner's place in the team. */
export async function holdDrain({ deps }: Store, id: string): Promise<void> {
  await change(deps, 'log_drain', { held_at: 1, held_reason: 'original-owner-left-the-team' }, { id })
}

/** Puts only a webhook on hold, as `holdDrain` does a drain. */
export async function holdWebhook({ deps }: Store, id: string): Promise<void> {
  await change(deps, 'webhook', { held_at: 1, held_reason: 'original-owner-left-the-team' }, { id })
}

/** Sends a webhook to an address that is refused now. An earlier version allowed it. */
export async function setWebhookUrl({ deps }: Store, id: string, url: string): Promise<void> {
  await change(deps, 'webhook', { url }, { id })
}

/** Ends all deliveries, or all but one. Otherwise one fails for good, or is dropped, after days. */
export async function endDeliveries({ deps }: Store, status: 'failed' | 'dropped', butId = ''): Promise<void> {
  const ended = { status, due_at: null, done_at: 1 }
  await deps.db.write((tx) => {
    const all = tx.updateTable('delivery').set(ended)
    return (butId === '' ? all : all.where('id', '!=', butId)).execute()
  })
}

/** Makes a delivery due at another time. Otherwise it becomes due after a failed attempt. */
export async function setDue({ deps }: Store, id: string, due_at: number): Promise<void> {
  await change(deps, 'delivery', { due_at, held_at: null }, { id })
}

/** Queues all emails again, as when the process ended between sending them and recording it. */
export async function requeueMail({ deps }: Store): Promise<void> {
  await change(deps, 'mail', { due_at: 1, sent_at: null })
}

/** Marks an email as sent, while others are pending. The mail worker sends all that are due. */
export async function markMailSent({ deps }: Store, recipient: string): Promise<void> {
  await change(deps, 'mail', { due_at: null, sent_at: 1 }, { recipient })
}

/** Sets the stamps of rows. The clock returns none twice, and none of the past. */
export async function setStamp<T extends 'account_domain' | 'deployment' | 'project_domain'>(
  { deps }: Store,
  table: T,
  created_stamp: number,
  where: Columns<T> = {},
): Promise<void> {
  await change<T>(deps, table, { created_stamp } as Columns<T>, where)
}

/** Takes the keys out of the store, as it is before its first start. */
export async function clearRootKeys({ deps }: Store): Promise<void> {
  await deps.db.write(async (tx) => {
    await tx.deleteFrom('project_key').execute()
    await tx.deleteFrom('root_key').execute()
  })
}

/** Deletes the password of a user, who then has passkeys only. No operation deletes a password. */
export async function clearPassword({ deps }: Store, userId: string): Promise<void> {
  await change<'sign_in'>(deps, 'sign_in', { password_hash: null }, { user_id: userId })
}

async function change<T extends Table>(
  { db }: World['deps'],
  table: T,
  columns: Columns<T>,
  where: Columns<T> = {},
): Promise<void> {
  await db.write(async (tx) => {
    let update = tx.updateTable(table as 'fact').set(columns as { value?: string })
    for (const [column, value] of Object.entries(where))
      update = update.where(column as 'name', value === null ? 'is' : '=', value as string)
    await update.execute()
  })
}

/** Stores a file as a deployment has it: no operation creates one of files yet. */
export async function setRefs({ deps }: Store, sha1: string, refs: number): Promise<void> {
  await deps.db.write(async (tx) => {
    const ids = tx.selectFrom('upload').select('blob_id').where('sha1', '=', sha1)
    await tx.updateTable('blob').set({ refs }).where('id', 'in', ids).execute()
  })
}

/** Shows an equal output of its account on a deployment, if there is one, and returns whether there was. No operation creates one of files yet. */
export async function takeOutput({ deps }: Store, deploymentId: string, sha256: string): Promise<boolean> {
  return deps.db.write(async (tx) => {
    const { account_id } = await tx
      .selectFrom('deployment')
      .select('account_id')
      .where('id', '=', deploymentId)
      .executeTakeFirstOrThrow()
    const taken = await tx
      .updateTable('output')
      .set((eb) => ({ refs: eb('refs', '+', 1) }))
      .where('account_id', '=', account_id)
      .where('sha256', '=', sha256)
      .returning('id')
      .executeTakeFirst()
    if (taken === undefined) return false
    await tx.updateTable('deployment').set({ output_id: taken.id }).where('id', '=', deploymentId).execute()
    return true
  })
}

/** Sets the log size of every build. By reports of a runner it would take 16 MiB of lines. */
export async function setLogBytes({ deps }: Store, bytes: number): Promise<void> {
  await deps.db.write((tx) => tx.updateTable('build').set({ log_bytes: bytes }).execute())
}

/** Copies a waiting build this many times, which takes a client as many requests. */
export async function copyBuild({ deps }: Store, deploymentId: string, count: number, name = 'copy'): Promise<void> {
  await deps.db.write(async (tx) => {
    const rows = tx.selectFrom('build').selectAll().where('deployment_id', '=', deploymentId)
    const row = await rows.executeTakeFirstOrThrow()
    const copies = Array.from({ length: count }, (_, at) => ({
      ...row,
      ...{ deployment_id: `dpl_${name}${at}`, queued_at: Number(row.queued_at) + 1 },
    }))
    await insertRows(tx, 'build', copies)
  })
}
