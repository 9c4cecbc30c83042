/** The unmodified SDKs read deployments, aliases and promote requests, and projects that have them. docs/spec/wire.md 4. */
import assert from 'node:assert/strict'
import { onBothEngines } from '../../support/world.ts'
import { SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'

// biome-ignore lint/suspicious/noExplicitAny: three versions of one client, whose types differ; the answers are checked here
type Api = Record<string, (request?: object) => Promise<any>>
type Sdk = { projects: Api; deployments: Api; aliases: Api }

/** Up to 1.7.7 a client decodes the aliases of a promote as `{}`, whatever comes (docs/spec/wire.md 2.6). */
const LOAD = {
  '1.1.0': { open: () => import('sdk-1.1.0'), readsAliases: false, gets: false },
  '1.6.3': { open: () => import('sdk-1.6.3'), readsAliases: false, gets: false },
  '1.28.35': { open: () => import('sdk-1.28.35'), readsAliases: true, gets: true },
}

for (const [version, { open, readsAliases, gets }] of Object.entries(LOAD)) {
  onBothEngines(
    `SDK ${version} promotes, follows it, and reads deployments and aliases`,
    async (world) => {
      const web = await seedWebProject(world)
      await world.call('POST', '/v10/projects/web/domains', { name: 'not-proven.com' })
      const first = await web.deploy({ meta: { githubCommitRef: 'main' } })
      for (const readyState of ['QUEUED', 'INITIALIZING', 'BUILDING', 'CANCELED', 'ERROR'])
        await web.deploy({ readyState, target: null, gitBranch: 'dev' })
      const { Vercel } = await open()
      const serverURL = await world.listen()
      const sdk = new Vercel({ bearerToken: world.credentials.token, serverURL }) as unknown as Sdk
      const never = await sdk.projects.listPromoteAliases!({ projectId: web.id })
      assert.deepEqual(Object.keys(never ?? {}).length, 0)
      await sdk.projects.requestPromote!({ projectId: web.id, deploymentId: first })
      await web.sweep()
      const listed = await sdk.projects.listPromoteAliases!({ projectId: web.id, limit: 2, failedOnly: false })
      if (readsAliases) {
        assert.deepEqual([listed.aliases[0].alias, listed.aliases[0].status], ['two.apps.example.net', 'completed'])
        assert.equal(listed.pagination.count, 2)
        assert.equal(listed.pagination.next, null)
      }
      const { projects } = await sdk.projects.getProjects!({})
      assert.equal(projects[0].lastAliasRequest.jobStatus, 'succeeded')
      assert.equal(projects[0].targets.production.id, first)
      assert.equal(projects[0].latestDeployments.length, 5)
      if (gets) assert.equal((await sdk.projects.getProject!({ idOrName: 'web' })).targets.production.id, first)

      const all = await sdk.deployments.getDeployments!({ projectId: web.id, limit: 10, target: 'production' })
      assert.deepEqual([all.deployments[0].uid, all.deployments[0].readySubstate], [first, 'PROMOTED'])
      assert.equal((await sdk.deployments.getDeployments!({ limit: 100 })).deployments.length, 6)
      for (const idOrUrl of [first, 'd1.host.test']) {
        const one = await sdk.deployments.getDeployment!({ idOrUrl })
        assert.deepEqual([one.id, one.readyState], [first, 'READY'])
      }
      const { aliases } = await sdk.aliases.listAliases!({ limit: 10 })
      assert.deepEqual(
        aliases.map(({ deploymentId }: { deploymentId: string }) => deploymentId),
        [first, first],
      )
      const alias = await sdk.aliases.getAlias!({ idOrAlias: aliases[0].alias })
      assert.ok(alias.created instanceof Date)
      assert.equal((await sdk.aliases.listDeploymentAliases!({ id: first })).aliases.length, 2)
      assert.equal((await sdk.aliases.deleteAlias!({ aliasId: aliases[0].uid })).status, 'SUCCESS')
    },
    SETTINGS,
  )
}
