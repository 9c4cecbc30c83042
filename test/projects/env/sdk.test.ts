/** The official SDK, three versions of it, does every operation on variables against a listening service. */
import assert from 'node:assert/strict'
import { Vercel as Oldest } from 'sdk-1.1.0'
import { Vercel as Middle } from 'sdk-1.6.3'
import { Vercel as Newest } from 'sdk-1.28.35'
import { onBothEngines } from '../../support/world.ts'
import { SECRET_VARIABLE, VARIABLES } from '../../support/worlds/full-project.ts'

const SDKS = { '1.1.0': Oldest, '1.6.3': Middle, '1.28.35': Newest } as const

// biome-ignore lint/suspicious/noExplicitAny: three versions, three sets of types, one set of calls
type AnySdk = any

for (const [version, Sdk] of Object.entries(SDKS)) {
  onBothEngines(`SDK ${version} does every operation on variables`, async (world) => {
    const serverURL = await world.listen()
    const sdk: AnySdk = new Sdk({ serverURL, bearerToken: world.credentials.token })
    const { projects } = sdk
    const made = await projects.createProject({
      requestBody: {
        name: 'web',
        environmentVariables: [
          { key: 'FIRST', value: 'f', target: 'production', type: 'encrypted' },
          { key: 'BRANCH', value: 'b', target: 'preview', gitBranch: 'dev', type: 'plain' },
        ],
      },
    })
    assert.equal(made.env.length, 2)
    const idOrName = made.id

    const requestBody = {
      key: 'TOKEN',
      value: 'hunter2',
      type: 'encrypted',
      target: ['production', 'preview'],
      comment: 'c',
    }
    const single = await projects.createProjectEnv({ idOrName, requestBody })
    assert.equal(single.created.key, 'TOKEN')
    const several = await projects.createProjectEnv({ idOrName, requestBody: VARIABLES })
    assert.deepEqual([several.created.length, several.failed], [3, []])
    // The newest SDK creates no `secret`; it still reads those that are there.
    assert.equal((await world.call('POST', '/v10/projects/web/env', SECRET_VARIABLE)).status, 201)
    const upserted = await projects.createProjectEnv({
      idOrName,
      upsert: 'true',
      requestBody: [{ ...requestBody, value: 'new' }],
    })
    assert.equal(upserted.created.length, 1)
    const partly = await projects.createProjectEnv({
      idOrName,
      requestBody: [requestBody, { ...requestBody, key: 'NEXT' }],
    })
    assert.deepEqual([partly.created.length, partly.failed[0].error.code], [1, 'ENV_ALREADY_EXISTS'])
    await assert.rejects(projects.createProjectEnv({ idOrName, requestBody }), (error: { statusCode?: number }) => {
      assert.equal(error.statusCode, 403)
      return true
    })

    const list = await projects.filterProjectEnvs({ idOrName, decrypt: 'true', source: 'vercel-cli:pull' })
    const shown = Object.fromEntries(list.envs.map((env: { key: string; value: string }) => [env.key, env.value]))
    assert.deepEqual(shown, {
      FIRST: 'f',
      BRANCH: 'b',
      TOKEN: 'new',
      K_plain: 'v',
      K_sensitive: '',
      K_secret: 'v',
      VERCEL_URL: 'VERCEL_URL',
      NEXT: 'hunter2',
    })
    const { id } = list.envs.find((env: { key: string }) => env.key === 'TOKEN')
    for (const env of list.envs) assert.equal((await projects.getProjectEnv({ idOrName, id: env.id })).key, env.key)
    // Up to 1.7.7 the SDK decodes this answer to {} (docs/spec/wire.md 2.8): the store says what happened.
    await projects.editProjectEnv({ idOrName, id, requestBody: { target: ['preview'], comment: 'edited' } })
    const after = await world.call('GET', `/v1/projects/web/env/${id}`)
    assert.deepEqual([after.body.target, after.body.comment], [['preview'], 'edited'])

    for (const project of (await projects.getProjects({})).projects) assert.equal(project.env.length, 8)
    await projects.removeProjectEnv({ idOrName, id })
    if (projects.batchRemoveProjectEnv) {
      const ids = list.envs.map((env: { id: string }) => env.id)
      const gone = await projects.batchRemoveProjectEnv({ idOrName, requestBody: { ids } })
      assert.equal(gone.deleted, 7)
    }
    await projects.updateProject({ idOrName, requestBody: { buildCommand: 'make' } })
    await projects.deleteProject({ idOrName })
  })
}
