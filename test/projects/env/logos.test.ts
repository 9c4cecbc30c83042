/** Environment variables created by an integration show the integration's logo. Specification: Authentication. */
import assert from 'node:assert/strict'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines } from '../../support/world.ts'
import { seedInstallation, seedIntegration } from '../../support/worlds/integration-world.ts'

onBothEngines(
  'a variable of an integration has the name and logo of the integration in every response',
  async (world) => {
    const { teamId } = world.credentials
    const query = `?teamId=${teamId}`
    const projectId = await seedProject(world, 'web', query)
    const scopes = ['read-write:global-project-env-vars', 'read-write:project']
    const icon = 'https://logo.example.com/a.svg'
    const shining = await seedInstallation(world, { app: await seedIntegration(world, { scopes, logoUrl: icon }) })
    const plain = await seedInstallation(world, { app: await seedIntegration(world, { scopes, slug: 'plain' }) })
    const variable = (key: string) => ({ key, value: 'v', target: ['preview'] })
    const env = `/v10/projects/web/env${query}` as const
    for (const [call, key] of [
      [world.call, 'PERSONS'],
      [shining.call, 'SHINING'],
      [plain.call, 'PLAIN'],
    ] as const) {
      assert.equal((await call('POST', env, variable(key))).status, 201)
    }
    const expected = {
      PERSONS: undefined,
      SHINING: { name: 'Helper', slug: 'helper', icon },
      PLAIN: { name: 'Helper', slug: 'plain', icon: '' },
    }
    type Shown = { id: string; key: string; integration?: object; configurationId: string | null }
    const logos = (shown: Shown[]) => Object.fromEntries(shown.map(({ key, integration }) => [key, integration]))
    const list: Shown[] = (await world.call('GET', `/v9/projects/web/env${query}`)).body.envs
    assert.deepEqual(logos(list), expected)
    assert.deepEqual(logos((await world.call('GET', `/v9/projects/web${query}`)).body.env), expected)
    const [project] = (await world.call('GET', `/v9/projects${query}`)).body.projects
    assert.deepEqual(logos(project.env), expected)
    for (const { id, key } of list) {
      const one = await world.call('GET', `/v1/projects/${projectId}/env/${id}${query}`)
      assert.deepEqual(one.body.integration, expected[key as keyof typeof expected])
    }
    const removed = await world.call('DELETE', `/v1/integrations/configuration/${shining.installationId}${query}`)
    assert.equal(removed.status, 204)
    const left: Shown[] = (await world.call('GET', `/v9/projects/web/env${query}`)).body.envs
    assert.deepEqual(Object.keys(logos(left)).sort(), ['PERSONS', 'PLAIN'])
  },
)
