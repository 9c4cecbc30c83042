/** The repository of a project and the retention of its deployments, in the console. docs/git-links.md; docs/deployments.md: Expiration. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const SETTINGS = '/console/t/admin/projects/web/settings'
const read = async ({ call }: World) => (await call('GET', '/v9/projects/web')).body

onBothEngines(
  'a project is linked to a repository, its production branch is set, and it is unlinked',
  async (world) => {
    const client = await openSignedInClient(world)
    await seedProject(world, 'web')
    const settings = (await client.get(SETTINGS)).text
    assert.match(settings, /Not linked to a repository\.[\s\S]*href="[^"]*\/settings\/git"/)
    const page = (await client.get(`${SETTINGS}/git`)).text
    assert.match(page, /name="repo"/)
    assert.doesNotMatch(page, /name="branch"|unlink/)

    const wrong = await client.post(`${SETTINGS}/git`, { type: 'github', repo: 'only-a-name' })
    assert.equal(wrong.status, 400)
    assert.match(wrong.text, /name="repo" value="only-a-name"[^>]*aria-invalid="true"[\s\S]*“Repository” should be/)
    const failed = await client.post(`${SETTINGS}/git`, { type: 'gitlab', repo: 'acme/web' })
    assert.equal(failed.status, 400)
    assert.match(failed.text, /the account has no credential for it[\s\S]*<option value="gitlab" selected>/)

    const linked = await client.post(`${SETTINGS}/git`, { type: 'github', repo: ' acme/web ' })
    assert.deepEqual([linked.status, linked.location], [303, `${SETTINGS}/git`], linked.text)
    const shown = (await client.get(`${SETTINGS}/git`)).text
    assert.match(
      shown,
      /linked to acme\/web\.[\s\S]*<h2>GitHub<\/h2>[\s\S]*<dd>acme\/web<\/dd>[\s\S]*<code>main<\/code>/,
    )
    assert.doesNotMatch(shown, /name="repo"/)
    assert.match((await client.get(SETTINGS)).text, /acme\/web on GitHub\./)
    const again = await client.post(`${SETTINGS}/git`, { type: 'github', repo: 'acme/other' })
    assert.equal(again.status, 409)
    assert.match(again.text, /name="repo" value="acme\/other"[^>]*aria-invalid="true"/)

    await world.call('POST', '/v10/projects/web/domains', { name: 'next.example.com', gitBranch: 'next' })
    const taken = await client.post(`${SETTINGS}/git/branch`, { branch: 'next' })
    assert.equal(taken.status, 400)
    assert.match(taken.text, /name="branch" value="next"[^>]*aria-invalid="true"/)
    assert.equal((await client.post(`${SETTINGS}/git/branch`, { branch: 'trunk' })).status, 303)
    assert.equal((await read(world)).link!.productionBranch, 'trunk')
    assert.equal((await client.post(`${SETTINGS}/git/unlink`)).status, 303)
    assert.equal((await read(world)).link, undefined)
  },
)

onBothEngines('the retention of deployments is shown and set, each kind on its own', async (world) => {
  const client = await openSignedInClient(world)
  await seedProject(world, 'web')
  assert.match((await client.get(SETTINGS)).text, /href="[^"]*\/settings\/retention"/)
  const chosen = (text: string) => [...text.matchAll(/<option value="(\w+)" selected>/g)].map(([, period]) => period)
  const path = `${SETTINGS}/retention`
  assert.deepEqual(chosen((await client.get(path)).text), ['unlimited', 'unlimited', 'unlimited', 'unlimited'])
  const saved = await client.post(path, { expiration: '1w', expirationErrored: '1d' })
  assert.deepEqual([saved.status, saved.location], [303, path], saved.text)
  const next = (await client.get(path)).text
  assert.match(next, /role="status".*The first deployments are removed after an hour\./)
  assert.deepEqual(chosen(next), ['1w', 'unlimited', 'unlimited', '1d'])
  const { expirationDays, expirationDaysErrored } = (await read(world)).deploymentExpiration
  assert.deepEqual([expirationDays, expirationDaysErrored], [7, 1])
  await client.post(path, { expiration: 'unlimited', expirationErrored: 'unlimited' })
  assert.match((await client.get(path)).text, /role="status".*The retention is saved\. All deployments stay\./)
  const wrong = await client.post(path, { expiration: '5d' })
  assert.equal(wrong.status, 400)
  assert.match(wrong.text, /id="expiration-fault"/)
})

onBothEngines('a role that cannot change them sees the repository and the retention', async (world) => {
  const { teamId } = world.credentials
  const { slug } = (await world.call('GET', `/v2/teams/${teamId}`)).body as { slug: string }
  await seedProject(world, 'web', `?teamId=${teamId}`)
  await world.call('POST', `/v9/projects/web/link?teamId=${teamId}`, { type: 'github', repo: 'acme/web' })
  await world.call('PATCH', `/v9/projects/web/deployment-expiration?teamId=${teamId}`, { expirationProduction: '1y' })
  const viewer = await world.user('viewer')
  await world.join(viewer, 'VIEWER')
  const client = await openSignedInClient(world, viewer.id, 'viewer')
  const git = await client.get(`/console/t/${slug}/projects/web/settings/git`)
  assert.match(git.text, /<dd>acme\/web<\/dd>/)
  const retention = await client.get(`/console/t/${slug}/projects/web/settings/retention`)
  assert.match(retention.text, /<dt>Production<\/dt><dd>1 year<\/dd>/)
  for (const { text } of [git, retention]) assert.doesNotMatch(text, /<form[^>]*action="\/console\/t\//)
})

onBothEngines('a custom environment is renamed, described, and gets or loses its branches', async (world) => {
  const client = await openSignedInClient(world)
  await seedProject(world, 'web')
  const environments = '/v9/projects/web/custom-environments'
  const { id } = (await world.call('POST', environments, { slug: 'staging', description: 'before it is live' })).body
  const path = `${SETTINGS}/environments/${id}`
  const stored = async () => {
    const { slug, description, branchMatcher } = (await world.call('GET', `${environments}/${id}`)).body
    return [slug, description, branchMatcher]
  }
  assert.match((await client.get(path)).text, /name="slug" value="staging"[\s\S]*name="description" value="before it/)
  const fields = { slug: 'next', description: '', branchType: 'startsWith', branchPattern: 'release/' }
  const saved = await client.post(`${SETTINGS}/environments/staging`, fields)
  assert.deepEqual([saved.status, saved.location], [303, path], saved.text)
  assert.deepEqual(await stored(), ['next', undefined, { type: 'startsWith', pattern: 'release/' }])
  const page = (await client.get(path)).text
  assert.match(page, /<option value="startsWith" selected>[\s\S]*name="branchPattern" value="release\/"/)
  await client.post(path, { ...fields, branchType: '', branchPattern: '' })
  assert.deepEqual(await stored(), ['next', undefined, undefined])
  for (const [wrong, name] of [
    [{ slug: 'Not A Slug' }, 'slug'],
    [{ branchPattern: '' }, 'branchPattern'],
    [{ branchType: '' }, 'branchType'],
  ] as const) {
    const refused = await client.post(path, { ...fields, ...wrong })
    assert.equal(refused.status, 400)
    assert.match(refused.text, new RegExp(`name="${name}"[^>]*aria-invalid="true"`))
  }
  assert.deepEqual(await stored(), ['next', undefined, undefined])
})

onBothEngines('the caches of a project are purged after a second press', async (world) => {
  const client = await openSignedInClient(world)
  const id = await seedProject(world, 'web')
  const purges = () => world.deps.db.read.selectFrom('project').select('purges_json').where('id', '=', id).execute()
  const [{ purges_json: before }] = (await purges()) as [{ purges_json: string | null }]
  assert.match((await client.get(SETTINGS)).text, /<details class="twice"[\s\S]*action="[^"]*\/settings\/purge"/)
  const purged = await client.post(`${SETTINGS}/purge`)
  assert.deepEqual([purged.status, purged.location], [303, SETTINGS], purged.text)
  assert.match((await client.get(SETTINGS)).text, /role="status".*The caches are purged\./)
  assert.notEqual((await purges())[0]!.purges_json, before)
})
