/** The addresses that production of a project and its branches have, and what they follow. docs/deploying-sites.md: Addresses. */
import assert from 'node:assert/strict'
import { runTimer } from '../../../src/timers.ts'
import { seedDeployment, seedProject } from '../../support/projects.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { readDomainAssignments } from '../../support/worlds/deploy-world.ts'
import { seedTransferAccounts } from '../../support/worlds/transfer-world.ts'
import { create, deploy, SITE, SUFFIX, uploadAll } from './deploying.ts'

const DAY_MS = 86_400_000
const PRODUCTION = /^web-[a-z0-9]{8}\.apps\.example\.net$/
const BRANCH = /^web-git-main-[a-z0-9]{10}\.apps\.example\.net$/

const ofBranch = (commitRef: string) => ({ gitMetadata: { commitRef } })

/** A project `web`, and ways to deploy to it. Each deployment says something else, as a create that is sent twice makes one. */
async function openSite(world: World) {
  const id = await seedProject(world, 'web')
  let serial = 0
  const site = async (said: object = {}) => deploy(world.call, SITE, { ...said, meta: { n: String(++serial) } })
  return { id, production: (said: object = {}) => site({ target: 'production', ...said }), preview: site }
}

/** What leads where, by what an address shows. */
async function addresses(world: World): Promise<Record<string, { name: string; leadsTo: string }>> {
  const rows = await world.deps.db.read.selectFrom('alias').selectAll().where('address_of', 'is not', null).execute()
  return Object.fromEntries(rows.map((row) => [row.address_of!, { name: row.name, leadsTo: row.deployment_id }]))
}

onBothEngines(
  'production has an address from its first deployment of files, which follows promotes and stays when the project is renamed',
  async (world) => {
    const { call } = world
    const site = await openSite(world)
    await site.preview()
    assert.deepEqual(await addresses(world), {}, 'nothing serves production')
    const first = await site.production()
    const { name } = (await addresses(world)).production!
    assert.match(name, PRODUCTION)
    assert.deepEqual([first.alias, first.automaticAliases, first.aliasAssigned], [[name], [name], true])
    const project = (await call('GET', '/v9/projects/web')).body
    assert.deepEqual([project.targets.production.alias, project.targets.production.automaticAliases], [[name], [name]])
    assert.deepEqual(await readDomainAssignments(world), { [name]: first.id })

    const second = await site.production()
    assert.deepEqual([second.alias, await readDomainAssignments(world)], [[name], { [name]: second.id }])
    assert.equal('automaticAliases' in (await call('GET', `/v13/deployments/${first.id}`)).body, false)
    const staged = await site.production({ autoAssignCustomDomains: false })
    assert.deepEqual([staged.alias, await readDomainAssignments(world)], [[], { [name]: second.id }])

    await call('PATCH', '/v9/projects/web', { name: 'shop' })
    await call('POST', `/v10/projects/${site.id}/promote/${staged.id}`, {})
    assert.deepEqual(await readDomainAssignments(world), { [name]: staged.id }, 'at once, and by the name that it had')
    await call('POST', `/v1/projects/${site.id}/rollback/${first.id}`, {})
    assert.deepEqual(await readDomainAssignments(world), { [name]: first.id })
    await call('PATCH', '/v9/projects/shop', { name: 'web' })
    await call('POST', `/v1/projects/${site.id}/pause`)
    await site.production()
    assert.deepEqual(
      await readDomainAssignments(world),
      { [name]: first.id },
      'a paused project goes on with nothing else',
    )

    await call('DELETE', `/v13/deployments/${first.id}`)
    assert.deepEqual(
      await readDomainAssignments(world),
      { [name]: staged.id },
      'the rollback was in progress, and is undone',
    )
    await world.operator('POST', '/operator/v1/timers/alias-requests/run', {})
    await call('DELETE', `/v13/deployments/${staged.id}`)
    assert.deepEqual(await readDomainAssignments(world), {}, 'nothing serves production')
    await call('POST', `/v1/projects/${site.id}/unpause`)
    const last = await site.production()
    assert.deepEqual(await readDomainAssignments(world), { [name]: last.id }, 'it has the same again')
  },
  SUFFIX,
)

onBothEngines(
  'the address of a branch points to its newest READY deployment of any target, and ends with the last one',
  async (world) => {
    const { call } = world
    const site = await openSite(world)
    const first = await site.preview(ofBranch('main'))
    const { name } = (await addresses(world))['branch main']!
    assert.match(name, BRANCH)
    assert.deepEqual([first.alias, first.automaticAliases, first.gitBranch], [[name], [name], 'main'])
    const other = await site.preview(ofBranch('feature/Ünï_x'))
    assert.match(other.alias[0]!, /^web-git-feature-n-x-[a-z0-9]{10}\.apps\.example\.net$/)
    const second = await site.preview(ofBranch('main'))
    const live = await site.production(ofBranch('main'))
    const all = await addresses(world)
    assert.deepEqual(all['branch main'], { name, leadsTo: live.id })
    assert.deepEqual(live.alias, [all.production!.name, name])
    const failed = await seedDeployment(world, site.id, {
      ...{ url: 'd1.host.test', target: 'preview', readyState: 'BUILDING', gitBranch: 'main' },
    })
    assert.deepEqual((await addresses(world))['branch main'], { name, leadsTo: live.id }, 'it is not READY')
    await world.operator('PATCH', `/operator/v1/deployments/${failed}`, { readyState: 'READY' })
    assert.deepEqual((await addresses(world))['branch main'], { name, leadsTo: failed })

    for (const [gone, next] of [
      [failed, live.id],
      [live.id, second.id],
      [second.id, first.id],
    ] as const) {
      await call('DELETE', `/v13/deployments/${gone}`)
      assert.equal((await addresses(world))['branch main']!.leadsTo, next)
    }
    await call('DELETE', `/v13/deployments/${first.id}`)
    assert.deepEqual(Object.keys(await addresses(world)), ['branch feature/Ünï_x'])
    const again = await site.preview(ofBranch('main'))
    assert.deepEqual(again.alias, [name])
    await call('DELETE', '/v9/projects/web')
    assert.deepEqual(await addresses(world), {})
  },
  SUFFIX,
)

onBothEngines(
  'a deployment that the build system registers gets no address of its own, and is assigned the existing ones',
  async (world) => {
    const site = await openSite(world)
    await seedDeployment(world, site.id, { url: 'd1.host.test', gitBranch: 'main' })
    assert.deepEqual(await addresses(world), {})
    await site.production(ofBranch('main'))
    const registered = await seedDeployment(world, site.id, { url: 'd2.host.test', gitBranch: 'main' })
    const all = Object.values(await addresses(world))
    assert.deepEqual(
      all.map(({ leadsTo }) => leadsTo),
      [registered, registered],
    )
    for (const { name } of all) {
      const said = { url: name, readyState: 'READY' }
      const refused = await world.operator.try('POST', `/operator/v1/projects/${site.id}/deployments`, said)
      assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
      assert.match(refused.body.error.message, /is the address of a project or of one of its branches/)
    }
  },
  SUFFIX,
)

onBothEngines(
  'the address of a branch does not prevent an expiration, and moves to the newest deployment left',
  async (world) => {
    const site = await openSite(world)
    const live = await site.production(ofBranch('main'))
    await site.preview(ofBranch('main'))
    await site.preview(ofBranch('next'))
    const given = await addresses(world)
    assert.deepEqual(Object.keys(given).sort(), ['branch main', 'branch next', 'production'])
    await world.call('PATCH', '/v9/projects/web/deployment-expiration', { expiration: '1d' })
    await runTimer(world.deps, 'expired-deployments', Date.now() + 2 * DAY_MS)
    const { deployments } = (await world.call('GET', '/v6/deployments')).body
    assert.deepEqual(
      deployments.map(({ uid }: { uid: string }) => uid),
      [live.id],
    )
    const main = { ...given['branch main']!, leadsTo: live.id }
    assert.deepEqual(await addresses(world), { production: given.production, 'branch main': main })
  },
  SUFFIX,
)

onBothEngines(
  'addresses move with their project to another account, and still point to its deployments',
  async (world) => {
    const { taker, offer, take, sweep } = await seedTransferAccounts(world)
    const first = await deploy(world.call, SITE, { target: 'production', ...ofBranch('main') })
    const given = await addresses(world)
    assert.equal((await take(await offer())).status, 202)
    await sweep()
    assert.deepEqual(await addresses(world), given)
    const theirs = { ...world, call: taker.call }
    assert.deepEqual(
      await readDomainAssignments(theirs),
      Object.fromEntries(first.alias.map((name) => [name, first.id])),
    )
    assert.deepEqual(await readDomainAssignments(world), {})
    const second = await deploy(taker.call, SITE, { target: 'production', ...ofBranch('main') })
    assert.deepEqual([second.projectId, second.alias], [first.projectId, first.alias])
  },
  SUFFIX,
)

onBothEngines(
  'concurrent deploys to projects with one name and to similar branches share no address, and each points to its own newest',
  async (world) => {
    const ROUNDS = 4
    const calls = [world.call, (await world.user('eve')).call, (await world.user('ann')).call]
    for (const call of calls) {
      await call('POST', '/v10/projects', { name: 'web' })
      await uploadAll(call, SITE)
    }
    const asked = calls.flatMap((call) =>
      Array.from({ length: ROUNDS }, (_, n) =>
        ['x/y', 'x-y'].map((branch) =>
          create(call, SITE, { target: 'production', ...ofBranch(branch), meta: { n: String(n) } }),
        ),
      ).flat(),
    )
    const made = await Promise.all(asked)
    assert.deepEqual(new Set(made.map(({ status }) => status)), new Set([200]))
    const { read } = world.deps.db
    const rows = await read.selectFrom('alias').selectAll().where('address_of', 'is not', null).execute()
    assert.equal(rows.length, calls.length * 3, 'production and two branches of each')
    assert.equal(new Set(rows.map(({ created_stamp }) => created_stamp)).size, rows.length)
    const deployments = await read.selectFrom('deployment').selectAll().orderBy('created_stamp', 'desc').execute()
    for (const row of rows) {
      const shown = deployments.filter(({ project_id, git_branch }) => {
        return project_id === row.project_id && ['production', `branch ${git_branch}`].includes(row.address_of!)
      })
      assert.equal(row.deployment_id, shown[0]!.id, `${row.address_of} ${row.name}`)
      assert.equal(row.account_id, shown[0]!.account_id)
    }
    assert.deepEqual(
      new Set([...rows.map(({ name }) => name), ...deployments.map(({ url }) => url)]).size,
      rows.length + deployments.length,
    )
  },
  SUFFIX,
)

onBothEngines('on a laptop an address has the port of the sites server, and is found with it', async (world) => {
  const { call } = world
  const site = await openSite(world)
  const made = await site.production()
  const [host = '', port] = made.url.split(':')
  assert.match(host, /^web-[a-z0-9]{9}\.berth\.localhost$/)
  assert.equal(port, '3002')
  assert.match(made.alias!.join(), /^web-[a-z0-9]{8}\.berth\.localhost:3002$/)
  assert.deepEqual(made.automaticAliases, made.alias)
  const { deployments } = (await call('GET', '/v6/deployments')).body
  assert.deepEqual(
    deployments.map(({ url }) => url),
    [made.url],
  )
  for (const name of [made.url, host, `https://${made.url}/a`, made.alias![0]!])
    assert.equal((await call('GET', `/v13/deployments/${encodeURIComponent(name)}`)).body.id, made.id, name)
  const stored = await world.deps.db.read.selectFrom('deployment').select('url').executeTakeFirstOrThrow()
  assert.equal(stored.url, host, 'a port may be another one after the next start')
})
