/** The data that the control plane sends to sites servers. docs/deploying-sites.md: Data of the sites server. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { readConfig } from '../../../src/config.ts'
import { readVersion, writeVersion } from '../../../src/delivery/protocol/snapshot-version.ts'
import { createBackup } from '../../../src/operations/backup/backup.ts'
import { restoreBackup } from '../../../src/operations/backup/restore.ts'
import { eventually } from '../../support/eventually.ts'
import { seedProject } from '../../support/projects.ts'
import { tamper } from '../../support/states.ts'
import { newDatabase, onBothEngines, openWorld } from '../../support/world.ts'
import { seedWebProject } from '../../support/worlds/deploy-world.ts'
import { openInstance, SETTINGS } from '../../support/worlds/sites-world.ts'

const ONE = 'one.apps.example.net'
const UPSTREAM = 'http://10.0.0.7:3000'
const SNAPSHOT = '/sites/v1/snapshot'

onBothEngines(
  'sites servers need their token, also on the same machine; the token of proxies opens nothing of theirs',
  async (world) => {
    const { ask, close } = await openInstance(world)
    for (const path of [SNAPSHOT, '/sites/v1/hosts/a.example.com', '/sites/v1/none']) {
      for (const authorization of [
        '',
        'Bearer wrong',
        'Bearer token-of-the-proxies-1',
        'Basic token-of-the-sites-servers',
      ])
        assert.equal((await ask(path, { authorization })).status, 401, `${path} ${authorization}`)
      assert.equal((await ask(`${path}?token=${SETTINGS.BERTH_SITES_TOKEN}`, {})).status, 401, 'not in the query')
    }
    assert.equal((await ask('/edge/v1/ready')).status, 401, 'nor does theirs open what proxies ask')
    assert.equal((await ask(SNAPSHOT, undefined, 'POST')).status, 405)
    assert.equal((await ask('/sites/v1/none')).status, 404)
    assert.equal((await ask(`${SNAPSHOT}?wait=26`)).status, 400)
    assert.equal((await ask('/sites/v1/hosts/a%20b')).status, 400)
    await close()
  },
  { ...SETTINGS, BERTH_EDGE_TOKEN: 'token-of-the-proxies-1' },
)

onBothEngines(
  'without a configured token no sites server gets data, and the error names the setting to set',
  async (world) => {
    const { ask, close } = await openInstance(world)
    for (const path of [SNAPSHOT, '/sites/v1/hosts/a.example.com']) {
      const refused = await ask(path, { authorization: 'Bearer ' })
      assert.deepEqual([refused.status, /BERTH_SITES_TOKEN/.test(refused.text)], [403, true])
    }
    await close()
  },
)

onBothEngines(
  'the snapshot has the names and their deployments: no own url, no deployment without a name, and no secret of a protection',
  async (world) => {
    const web = await seedWebProject(world)
    const live = await web.deploy({ upstream: UPSTREAM })
    const preview = await web.deploy({ target: 'preview', upstream: UPSTREAM })
    const secret = 'a1'.repeat(16)
    const passwordProtection = { deploymentType: 'preview', password: 'correct horse battery' }
    await world.call('PATCH', '/v9/projects/web', { passwordProtection })
    await world.call('PATCH', `/v1/projects/${web.id}/protection-bypass`, { generate: { secret } })
    await seedProject(world, 'other')
    await world.call('POST', '/v10/projects/other/domains', { name: 'claimed.com' })
    const { ask, snapshot, close } = await openInstance(world)
    const all = (await snapshot())!
    assert.deepEqual([all.all, all.reset], [true, false])
    const domain = { projectId: web.id, redirect: null, redirectStatusCode: null, ofBranch: false, deploymentId: live }
    assert.deepEqual(
      all.lines.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))),
      [
        {
          ...{ kind: 'deployment', id: live, projectId: web.id, ready: true, production: true },
          ...{ upstream: UPSTREAM, output: null },
        },
        { kind: 'name', name: 'claimed.com' },
        { kind: 'name', name: ONE, domain },
        { kind: 'name', name: 'two.apps.example.net', domain },
        { kind: 'project', id: web.id, paused: false, liveDeploymentId: live, protection: { password: 'preview' } },
      ],
    )
    const { text } = await ask(SNAPSHOT)
    for (const hidden of ['host.test', preview, '$argon2', secret]) assert.ok(!text.includes(hidden), hidden)
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'a version gets the changed lines and the deletions since then, names first, and then nothing',
  async (world) => {
    const web = await seedWebProject(world)
    const live = await web.deploy({ upstream: UPSTREAM })
    const { snapshot, settle, close } = await openInstance(world)
    const { version } = (await snapshot())!
    assert.equal(await snapshot(version), undefined)
    await world.call('POST', '/v10/projects/web/domains', { name: 'three.apps.example.net' })
    await world.call('DELETE', `/v9/projects/web/domains/${ONE}`)
    const later = await web.deploy({ target: 'preview', upstream: UPSTREAM })
    await world.call('POST', `/v1/projects/${web.id}/pause`)
    await settle()
    const changed = (await snapshot(version))!
    assert.equal(changed.all, false)
    const named = changed.lines.map((line) => ('name' in line ? line.name : 'id' in line ? line.id : line.kind))
    assert.deepEqual(named, ['three.apps.example.net', ONE, live, later, web.id], named.join())
    assert.deepEqual(changed.lines[1], { kind: 'gone', of: 'name', id: ONE })
    assert.ok(changed.lines.some((line) => line.kind === 'project' && line.paused))
    assert.equal(await snapshot(changed.version), undefined)
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'a request waits for a change for the requested time, and gets a response when the control plane stops',
  async (world) => {
    const web = await seedWebProject(world)
    const { snapshot, close } = await openInstance(world)
    const { version } = (await snapshot())!
    assert.equal(await snapshot(version, 1), undefined)
    const changed = snapshot(version, 25)
    await world.call('POST', `/v1/projects/${web.id}/pause`)
    const after = (await changed)!
    assert.ok(after.lines.some((line) => line.kind === 'project' && line.paused))
    const left = snapshot(after.version, 25)
    // It waits by now, or is answered at once: both end.
    await snapshot(after.version)
    await close()
    assert.equal(await left, undefined)
  },
  SETTINGS,
)

onBothEngines(
  'another control plane over the store continues from a version; a foreign, old or missing version gets a full snapshot',
  async (world) => {
    const web = await seedWebProject(world)
    const first = await openInstance(world)
    const { version } = (await first.snapshot())!
    await first.close()
    await world.call('POST', `/v1/projects/${web.id}/pause`)
    const second = await openInstance(world)
    const changed = (await second.snapshot(version))!
    assert.equal(changed.all, false)
    assert.ok(changed.lines.some((line) => line.kind === 'project' && line.paused))
    assert.equal(await second.snapshot(changed.version), undefined)
    const parts = readVersion(version)!
    for (const other of [{ store: 'abcdefgh' }, { stamp: 1000 }, { instance: 'abcdefgh', stamp: 5 }]) {
      const instance = { ...parts, ...other }
      assert.equal((await second.snapshot(writeVersion(instance)))!.all, true, JSON.stringify(other))
    }
    assert.equal((await second.snapshot('nonsense'))!.all, true)
    await second.close()
  },
  SETTINGS,
)

onBothEngines(
  'a sites server that is newer than a restored database gets a full snapshot',
  async (world) => {
    await seedWebProject(world)
    const { snapshot, close } = await openInstance(world)
    const version = readVersion((await snapshot())!.version)!
    const ahead = writeVersion({ ...version, stamp: version.stamp + 3_600_000, instance: 'elsewher' })
    const all = (await snapshot(ahead))!
    assert.deepEqual([all.all, all.reset], [true, true])
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'after a restore every sites server reads all, also when something changes before its request',
  async (world) => {
    const web = await seedWebProject(world)
    const first = await openInstance(world)
    const { file: from } = await createBackup(
      world.deps.config,
      { to: join(world.folder, 'copy.db'), version: 'test', withKeys: false },
      () => {},
    )
    await world.call('POST', `/v1/projects/${web.id}/pause`)
    await first.settle()
    const { version } = (await first.snapshot())!
    await first.close()
    const DATABASE_URL =
      world.engine === 'postgres' ? await newDatabase() : `sqlite:${join(world.folder, 'restored.db')}`
    const settings = { ...SETTINGS, DATABASE_URL, BERTH_KEYS: join(world.folder, 'keys.json') }
    await restoreBackup(readConfig({ ...settings, BERTH_DATA: world.folder }), { from, force: false }, () => {})
    const restored = await openWorld(world.engine, settings)
    try {
      await tamper(restored, 'project_domain', { redirect_status_code: 308 }, { name: ONE })
      const second = await openInstance(restored)
      const all = (await second.snapshot(version))!
      assert.equal(all.all, true)
      assert.ok(all.lines.some((line) => line.kind === 'project' && !line.paused))
      await second.close()
    } finally {
      await restored.close()
    }
  },
  SETTINGS,
)

onBothEngines(
  'a list says the suffix that sites share, and all is sent once it is another one',
  async (world) => {
    const { config } = world.deps
    const one = await openInstance(world)
    assert.match((await one.ask(SNAPSHOT)).text, /^\{"kind":"head",[^}]*"suffix":"apps\.example\.net"\}\n/)
    const { version } = (await one.snapshot())!
    await one.close()
    const domains = { ...config.domains, platformSuffix: 'sites.example.net' }
    const other = await openInstance({ ...world, deps: { ...world.deps, config: { ...config, domains } } })
    assert.equal((await other.snapshot(version))!.all, true)
    await other.close()
  },
  SETTINGS,
)

onBothEngines(
  'sites servers can look up a deployment by the host of its own url, with and without a port, but not by a domain',
  async (world) => {
    const web = await seedWebProject(world)
    const live = await web.deploy({ upstream: UPSTREAM })
    const { ask, host, settle, close } = await openInstance(world)
    for (const name of ['d1.host.test', 'D1.host.test', 'd1.host.test:8443', 'd1.host.test.']) {
      const facts = (await host(name))!
      assert.deepEqual([facts.deployment.id, facts.project.id, facts.project.paused], [live, web.id, false], name)
    }
    assert.equal(await host(ONE), undefined)
    const none = await ask('/sites/v1/hosts/none.host.test')
    assert.deepEqual([none.status, none.headers['cache-control']], [404, 'max-age=1'])
    await world.call('POST', `/v1/projects/${web.id}/pause`)
    await settle()
    await eventually(async () => (await host('d1.host.test'))!.project.paused)
    await close()
  },
  SETTINGS,
)
