/**
 * States of rows that no operation gives to a test: each is set here, by SQL, and says why. What an operation can set is set by it
 * (test/support/sample-requests.ts).
 */
import type { World } from './world.ts'

/** Takes every domain of projects and accounts as proven. A proof takes a DNS server, which tests of something else do without. */
export async function proveDomains({ deps }: Pick<World, 'deps'>): Promise<void> {
  await deps.db.write(async (tx) => {
    await tx.updateTable('project_domain').set({ verified_at: 1 }).where('verified_at', 'is', null).execute()
    await tx.updateTable('account_domain').set({ proven_at: 1 }).where('proven_at', 'is', null).execute()
  })
}

/** Stops a project in the middle of a transfer, or takes it out of there with null. The operation goes through this state at once. */
export async function setInTransfer(
  { deps }: Pick<World, 'deps'>,
  projectId: string,
  at: number | null,
): Promise<void> {
  await deps.db.write((tx) =>
    tx.updateTable('project').set({ transfer_started_at: at }).where('id', '=', projectId).execute(),
  )
}

/** Disables an installation by itself. Operations do it only together with a change of its owner's place in the team. */
export async function disableInstallation({ deps }: Pick<World, 'deps'>, id: string): Promise<void> {
  const disabled_at = deps.clock.now()
  await deps.db.write((tx) => tx.updateTable('configuration').set({ disabled_at }).where('id', '=', id).execute())
}
