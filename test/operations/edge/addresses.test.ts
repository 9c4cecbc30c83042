/** The addresses of production and of branches, as proxies and sites servers receive them. docs/deploying-sites.md: Addresses, Data of the sites server. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openKnownHosts } from '../../../src/sites/snapshot/known-hosts.ts'
import { deploy, SITE } from '../../delivery/deploys/deploying.ts'
import { eventually } from '../../support/eventually.ts'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { openEdgeOf } from '../../support/worlds/edge-world.ts'
import { openInstance, SETTINGS, SITES_TOKEN } from '../../support/worlds/sites-world.ts'

const VISITOR = '203.0.113.7'
const BRANCH = { gitMetadata: { commitRef: 'main' } }

async function openSite(world: World) {
  const id = await seedProject(world, 'web')
  let serial = 0
  return { id, site: (said: object) => deploy(world.call, SITE, { ...said, meta: { n: String(++serial) } }) }
}

onBothEngines(
  'a sites server follows the addresses of production and of a branch, each change by a few lines',
  async (world, t) => {
    const { id, site } = await openSite(world)
    const first = await site({ target: 'production' })
    const preview = await site(BRANCH)
    const [production, branch] = [first.alias[0]!, preview.alias[0]!]
    const control = await openInstance(world)
    const folder = mkdtempSync(join(tmpdir(), 'berth-sites-'))
    const known = await openKnownHosts({ origin: control.origin, token: SITES_TOKEN, folder, log: world.deps.log })
    t.after(async () => {
      await known.stop()
      await control.close()
      rmSync(folder, { recursive: true, force: true })
    })
    const entry = async (host: string) => {
      const found = await known.find(host, VISITOR)
      return found === 'unavailable' ? assert.fail(found) : found
    }
    const shows = async (host: string) => {
      const { serving } = await entry(host)
      return serving.kind === 'live' ? serving.deploymentId : serving.kind
    }
    await eventually(async () => (await shows(production)) === first.id && (await shows(branch)) === preview.id)
    assert.equal((await entry(production)).isPreviewUrl, undefined, 'search engines may have it')
    assert.equal((await entry(branch)).isPreviewUrl, true)

    let { version, lines } = (await control.snapshot())!
    const names = lines.flatMap((line) => (line.kind === 'name' ? [line.name] : []))
    assert.deepEqual(names.sort(), [production, branch].sort())
    const change = async (act: () => Promise<unknown>, isDone: () => Promise<boolean>) => {
      await act()
      await control.settle()
      const changed = (await control.snapshot(version))!
      assert.deepEqual([changed.all, changed.more], [false, false])
      assert.ok(changed.lines.length <= 7, JSON.stringify(changed.lines))
      version = changed.version
      await eventually(isDone)
      return changed.lines.filter((line) => line.kind === 'name').map(({ name }) => name)
    }
    const second = { id: '' }
    const next = async () => Object.assign(second, await site({ target: 'production' }))
    assert.deepEqual(await change(next, async () => (await shows(production)) === second.id), [production])
    const back = () => world.call('POST', `/v1/projects/${id}/rollback/${first.id}`, {})
    assert.deepEqual(await change(back, async () => (await shows(production)) === first.id), [production])
    const promote = () => world.call('POST', `/v10/projects/${id}/promote/${second.id}`, {})
    assert.deepEqual(await change(promote, async () => (await shows(production)) === second.id), [production])
    const newer = { id: '' }
    const push = async () => Object.assign(newer, await site(BRANCH))
    assert.deepEqual(await change(push, async () => (await shows(branch)) === newer.id), [branch])
    const remove = () => world.call('DELETE', `/v13/deployments/${newer.id}`)
    assert.deepEqual(await change(remove, async () => (await shows(branch)) === preview.id), [branch])
    const pause = () => world.call('POST', `/v1/projects/${id}/pause`)
    assert.deepEqual(await change(pause, async () => (await shows(production)) === 'paused'), [])
    assert.equal(await shows(branch), preview.id, 'a pause takes production off line alone')
    await change(
      () => world.call('DELETE', `/v13/deployments/${preview.id}`),
      async () => (await shows(branch)) === 'unknown',
    )
  },
  SETTINGS,
)

onBothEngines(
  'the address of a branch is paused and protected like the url of its deployment, and that of production like a url, not a custom domain',
  async (world) => {
    const { id, site } = await openSite(world)
    const live = await site({ target: 'production', ...BRANCH })
    const preview = await site({ gitMetadata: { commitRef: 'next' } })
    const [production = '', main = ''] = live.alias
    const { ask, settle } = await openEdgeOf(world)
    const statuses = async () => {
      await settle()
      const hosts = [production, main, live.url, preview.alias[0]!, preview.url]
      const answers = await Promise.all(hosts.map((host) => ask('/edge/v1/check', { host })))
      return answers.map(({ status }) => status)
    }
    const open = await statuses()
    assert.equal(new Set(open).size, 1)
    await world.call('POST', `/v1/projects/${id}/pause`)
    const [served] = open
    assert.deepEqual(await statuses(), [503, 503, 503, served, served])
    await world.call('POST', `/v1/projects/${id}/unpause`)
    for (const [deploymentType, kept] of [
      ['preview', [served, served, served, 401, 401]],
      ['prod_deployment_urls_and_all_previews', [served, 401, 401, 401, 401]],
      ['all_except_custom_domains', [401, 401, 401, 401, 401]],
    ] as const) {
      const passwordProtection = { deploymentType, password: 'correct horse battery' }
      await world.call('PATCH', '/v9/projects/web', { passwordProtection })
      assert.deepEqual(await statuses(), kept, deploymentType)
    }
  },
  { ...SETTINGS, BERTH_SITES_ADDRESS: 'http://10.0.0.9:3002' },
)
