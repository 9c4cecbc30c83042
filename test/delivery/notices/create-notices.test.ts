/** What a create says of a deployment in addition to its output. docs/deploying-sites.md: Create a deployment. */
import assert from 'node:assert/strict'
import { eventually } from '../../support/eventually.ts'
import { seedProject } from '../../support/projects.ts'
import { tamper } from '../../support/states.ts'
import { onBothEngines } from '../../support/world.ts'
import { openInstance, SETTINGS } from '../../support/worlds/sites-world.ts'
import { create, SITE, uploadAll } from '../deploys/deploying.ts'

const WARNING = 'x-vercel-warning-'

onBothEngines(
  'a create says that no sites server asks, until one has asked any control plane within a minute',
  async (world) => {
    await seedProject(world, 'web')
    await uploadAll(world.call, SITE)
    let serial = 0
    const said = async () => {
      const made = await create(world.call, SITE, { meta: { n: String(++serial) } })
      assert.equal(made.status, 200, made.text)
      return made.headers[`${WARNING}sites-server-missing`]
    }
    assert.match(String(await said()), /^No sites server has asked .* visitors cannot open this one\. Start a sites/)
    const instance = await openInstance(world)
    await instance.ask('/sites/v1/snapshot', {})
    await instance.ask('/edge/v1/ready')
    assert.notEqual(await said(), undefined, 'a request without the token counts for nothing')
    await instance.snapshot()
    await eventually(async () => (await said()) === undefined)
    await tamper(world, 'fact', { value: String(world.deps.clock.now() - 60_000) }, { name: 'sites_server_heard' })
    assert.notEqual(await said(), undefined)
    await instance.close()
  },
  SETTINGS,
)

onBothEngines(
  'a create says that bulk redirects are not read',
  async (world) => {
    await seedProject(world, 'web')
    await uploadAll(world.call, SITE)
    const said = async (bulkRedirectsPath?: string | null) =>
      (await create(world.call, SITE, { bulkRedirectsPath })).headers[`${WARNING}bulk-redirects-unread`]
    assert.match(String(await said('redirects.csv')), /^Bulk redirects are not read: redirects\.csv\. Move those/)
    for (const none of [undefined, null, '']) assert.equal(await said(none), undefined)
  },
  SETTINGS,
)
