/** The sites server as the real program, while the real control plane is killed. docs/deploying-sites.md: Sites server. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { publish } from '../sites/visitors/publish.ts'
import { eventually } from '../support/eventually.ts'
import { newHome, processOnBothEngines, type ServiceHome, startService, startSites } from '../support/process.ts'
import { freePort } from '../support/servers/free-port.ts'
import { type Engine, openWorld } from '../support/world.ts'
import { seedWebProject } from '../support/worlds/deploy-world.ts'
import { callEdgeAt } from '../support/worlds/edge-world.ts'
import { SETTINGS, SITES_TOKEN } from '../support/worlds/sites-world.ts'

const ONE = 'one.apps.example.net'

/** A store with a site that is shown at ONE. Gives what calls the API of its first user. */
async function fillStore(home: ServiceHome, engine: Engine): Promise<string> {
  const { BERTH_DATA, DATABASE_URL } = home.env
  const world = await openWorld(engine, { ...SETTINGS, BERTH_DATA: BERTH_DATA!, DATABASE_URL: DATABASE_URL! })
  const web = await seedWebProject(world)
  await publish(world, await web.deploy(), {}, { 'static/index.html': 'here', 'static/new.html': 'new' })
  await world.close()
  return world.credentials.token
}

/** Starts `berth sites` in a folder that stays, as its visitors see it. */
async function openSites(t: TestContext, home: ServiceHome, controlPlane: string) {
  const env = {
    BERTH_DATA: join(home.folder, 'of-sites'),
    BERTH_SITES_TOKEN: SITES_TOKEN,
    BERTH_SITES_CONTROL_PLANE: controlPlane,
  }
  const sites = await startSites(t, { folder: home.folder, env }, {})
  return { ...sites, visit: (path = '/') => callEdgeAt(sites.address, path, { host: ONE }) }
}

processOnBothEngines(
  'visitors notice nothing of a control plane that is killed, nor of a sites server that starts without it',
  async (t, engine) => {
    const home = await newHome(t, engine)
    const token = await fillStore(home, engine)
    const port = await freePort()
    const settings = { BERTH_SITES_TOKEN: SITES_TOKEN, BERTH_EDGE_PORT: String(port) }
    const controlPlane = `http://127.0.0.1:${port}`
    const control = await startService(t, home, settings)
    const first = await openSites(t, home, controlPlane)
    await eventually(async () => (await first.visit()).status === 200)
    let [isOver, visits] = [false, 0]
    const visitors = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        const { status, text } = await first.visit()
        assert.deepEqual([status, text], [200, 'here'])
        visits++
      }
    })
    await eventually(() => visits > 50)
    await control.kill('SIGKILL')
    const before = visits
    await eventually(() => visits > before + 200)
    isOver = true
    await Promise.all(visitors)
    assert.equal((await first.visit('/new.html')).status, 503, 'it was never visited before')
    await first.kill('SIGKILL')
    const second = await openSites(t, home, controlPlane)
    assert.equal((await second.visit()).text, 'here')
    const again = await startService(t, home, settings)
    await eventually(async () => (await second.visit('/new.html')).text === 'new')
    const paused = await fetch(`${again.address}/v1/projects/web/pause`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    })
    assert.equal(paused.status, 200)
    await eventually(async () => (await second.visit()).status === 503)
    assert.equal(await second.kill('SIGTERM'), 0)
    assert.equal(await again.kill('SIGTERM'), 0)
  },
)
