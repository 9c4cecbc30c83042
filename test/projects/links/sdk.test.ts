/** The unmodified SDKs decode links of every type and bypass secrets, and the newest carries out a transfer. docs/spec/wire.md 2.2, 4 and 6. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { Vercel as Oldest } from 'sdk-1.1.0'
import { Vercel as Middle } from 'sdk-1.6.3'
import { Vercel as Newest } from 'sdk-1.28.35'
import { onBothEngines } from '../../support/world.ts'
import { GIT_PROVIDERS, startGitHosts } from '../../support/worlds/full-project.ts'

const hosts = await startGitHosts()
after(() => hosts.close())

// biome-ignore lint/suspicious/noExplicitAny: three versions, three sets of types, one set of calls
type AnySdk = any
const SDKS = { '1.1.0': Oldest, '1.6.3': Middle, '1.28.35': Newest } as const

for (const [version, Sdk] of Object.entries(SDKS)) {
  onBothEngines(`SDK ${version} creates and reads a link of every type, and bypass secrets`, async (world) => {
    await hosts.allow(world, world.credentials.userId)
    const { projects }: AnySdk = new Sdk({ serverURL: await world.listen(), bearerToken: world.credentials.token })
    for (const type of GIT_PROVIDERS) {
      const requestBody = { name: `of-${type}`, gitRepository: { type, repo: 'acme/web' } }
      const made = await projects.createProject({ requestBody })
      assert.deepEqual([made.link.type, made.link.productionBranch, made.link.deployHooks], [type, 'main', []])
      const raw = (await world.call('GET', `/v9/projects/of-${type}`)).body.link
      assert.deepEqual({ ...made.link }, raw, 'the SDK keeps every field of the variant')
    }
    const listed = (await projects.getProjects({})).projects
    assert.deepEqual(
      listed.map((project: { link: { type: string } }) => project.link.type),
      ['bitbucket', 'gitlab', 'github'],
    )
    const made = await projects.updateProjectProtectionBypass({ idOrName: 'of-github', requestBody: { generate: {} } })
    const [secret] = Object.keys(made.protectionBypass)
    assert.match(secret!, /^[A-Za-z0-9]{32}$/)
    const changed = await projects.updateProject({ idOrName: 'of-github', requestBody: { gitLFS: true } })
    assert.equal(changed.protectionBypass[secret!].scope, 'automation-bypass')
    const requestBody = { revoke: { secret, regenerate: false } }
    const revoked = await projects.updateProjectProtectionBypass({ idOrName: 'of-github', requestBody })
    assert.deepEqual(revoked.protectionBypass, {})
  })
}

onBothEngines('SDK 1.28.35 offers and accepts a transfer of a project', async (world) => {
  const serverURL = await world.listen()
  const taker = await world.user('taker')
  const giving: AnySdk = new Newest({ serverURL, bearerToken: world.credentials.token })
  const taking: AnySdk = new Newest({ serverURL, bearerToken: taker.token })
  await giving.projects.createProject({ requestBody: { name: 'web' } })
  const { code } = await giving.projects.createProjectTransferRequest({ idOrName: 'web', requestBody: {} })
  const requestBody = { newProjectName: 'mine' }
  assert.deepEqual(await taking.projects.acceptProjectTransferRequest({ code, requestBody }), {})
  assert.ok((await giving.projects.getProject({ idOrName: 'web' })).transferStartedAt > 0)
  await world.operator('POST', '/operator/v1/timers/project-transfers/run', {})
  const moved = await taking.projects.getProject({ idOrName: 'mine' })
  assert.equal(moved.transferredFromAccountId, world.credentials.userId)
})
