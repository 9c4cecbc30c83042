/** The exchange of codes at instances whose clocks differ. docs/integrations.md: The exchange of codes. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { onBothEngines, openWorld, type World } from '../../support/world.ts'
import { consentAndInstall, exchange, seedIntegration } from '../../support/worlds/integration-world.ts'

const USER = '/v9/projects?slug=team'

/** Another instance on the database of a world, with a clock of its own. */
async function openOther({ deps, folder }: World): Promise<World> {
  const { database } = deps.config
  const url = database.engine === 'postgres' ? database.url : assert.fail('one process')
  return openWorld('postgres', { DATABASE_URL: url, BERTH_KEYS: join(folder, 'keys.json') })
}

for (const skew of [-5000, 5000])
  onBothEngines(
    `where a clock differs by ${skew} ms, the loser of a race ends nothing, and a replay ends the token`,
    async (world) => {
      const other = await openOther(world)
      try {
        other.deps.clock.set(world.deps.clock.now() + skew)
        const app = await seedIntegration(world)
        for (let round = 0; round < 6; round++) {
          const { code } = await consentAndInstall(world, app)
          const answers = await Promise.all([world, other, world, other].map((one) => exchange(one, app, code)))
          const won = answers.filter(({ status }) => status === 200)
          assert.equal(won.length, 1)
          const call = world.as(won[0]!.body.access_token)
          assert.equal((await call('GET', USER)).status, 200, `round ${round}`)
          assert.equal((await exchange(round % 2 ? world : other, app, code)).status, 400)
          assert.equal((await call.try('GET', USER)).status, 401, `round ${round}: it was replayed`)
        }
      } finally {
        await other.close()
      }
    },
    {},
    ['postgres'],
  )
