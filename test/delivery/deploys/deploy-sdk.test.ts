/** The unmodified SDK uploads files, deploys them and looks at what it made. docs/spec/wire.md 4. */
import assert from 'node:assert/strict'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines } from '../../support/world.ts'
import { bytesOf, listOf, SITE, SUFFIX } from './deploying.ts'

// biome-ignore lint/suspicious/noExplicitAny: the answers are checked here
type Api = Record<string, (request?: object) => Promise<any>>

/** What the newest SDK demands of a deployment; without one of them it drops the others in silence. */
const FIELDS = [
  ...['aliasAssigned', 'bootedAt', 'build', 'buildingAt', 'buildSkipped', 'createdAt', 'createdIn', 'creator', 'env'],
  ...['id', 'inspectorUrl', 'isInConcurrentBuildsQueue', 'isInSystemBuildsQueue', 'meta', 'name', 'ownerId', 'plan'],
  ...['projectId', 'projectSettings', 'public', 'readyState', 'regions', 'routes', 'status', 'type', 'url', 'version'],
]

onBothEngines(
  'the newest SDK uploads files and deploys them, with some in the request, and loses no field',
  async (world) => {
    await seedProject(world, 'web')
    const { Vercel } = await import('sdk-1.28.35')
    const serverURL = await world.listen()
    const sdk = new Vercel({ bearerToken: world.credentials.token, serverURL }) as unknown as { deployments: Api }
    const [config, ...uploaded] = listOf(SITE)
    const files = [
      { file: config!.file, data: String(SITE[config!.file]), encoding: 'utf-8' },
      ...uploaded.map(({ file, sha, size }) => ({ file, sha, size })),
    ]
    const requestBody = { name: 'web', target: 'production', meta: { a: 'b' }, files }
    const early = await sdk.deployments.createDeployment!({ requestBody }).catch((error) => error)
    assert.match(String(early.body ?? JSON.stringify(early)), /"code":"missing_files"/)
    for (const { file, sha } of uploaded) {
      const bytes = bytesOf(SITE[file]!)
      await sdk.deployments.uploadFile!({ xVercelDigest: sha, contentLength: bytes.length, requestBody: bytes })
    }
    const made = await sdk.deployments.createDeployment!({ requestBody })
    assert.deepEqual([made.readyState, made.aliasAssigned, made.target], ['READY', true, 'production'])
    const missing = (one: object) => FIELDS.filter((field) => !(field in one))
    assert.deepEqual(missing(made), [])
    assert.deepEqual(missing(await sdk.deployments.getDeployment!({ idOrUrl: made.url })), [])
    const events = await sdk.deployments.getDeploymentEvents!({ idOrUrl: made.id })
    assert.ok(!Array.isArray(events) || events.length === 4)
    const tree = await sdk.deployments.listDeploymentFiles!({ id: made.id })
    assert.deepEqual(
      tree.map(({ name, type }: { name: string; type: string }) => [name, type]),
      [
        ['a', 'directory'],
        ['index.html', 'file'],
      ],
    )
    await sdk.deployments.deleteDeployment!({ id: made.id })
    assert.equal((await world.call.try('GET', `/v13/deployments/${made.id}`)).status, 404)
  },
  SUFFIX,
)
