/** Deployments with files, put into the store of a world as a create with files leaves them. */
import type { OutputFacts } from '../../../src/platform/verdict/facts.ts'
import { validOutput } from '../../delivery/outputs/upload.ts'
import { addOutput, showOutput } from '../../support/stores/outputs.ts'
import type { World } from '../../support/world.ts'

/** Gives a READY deployment an output of its own: this configuration, and files below `static/` and `functions/`. */
export async function publish(
  world: Pick<World, 'deps'>,
  deploymentId: string,
  config: object,
  contents: Record<string, string> = {},
): Promise<OutputFacts> {
  const { manifest } = await validOutput(config, contents)
  const { account_id } = await world.deps.db.read
    .selectFrom('deployment')
    .select('account_id')
    .where('id', '=', deploymentId)
    .executeTakeFirstOrThrow()
  const output = await addOutput(world, account_id, JSON.stringify(manifest), Object.values(contents))
  await showOutput(world, deploymentId, output)
  return output.facts
}
