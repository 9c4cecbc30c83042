import assert from 'node:assert/strict'
import { after } from 'node:test'
import { seedDeployment } from '../support/projects.ts'
import { startDnsServer } from '../support/servers/dns-server.ts'
import { consentAndInstall, formOf, REDIRECT, seedIntegration } from '../support/worlds/integration-world.ts'
import { assertSaid, onBothClis } from './cli-world.ts'

const dns = await startDnsServer()
after(() => dns.close())

onBothClis(
  'the operations of the specification through `api`',
  async (world) => {
    const { cli, works, api, version } = world
    // Every world asks the one DNS server of this file.
    const domain = `api-${world.engine}-${version.replaceAll('.', '-')}.com`
    /** What `vercel api` prints of one request, as JSON. It says of an object that it is JSON, and of nothing else. */
    const ask = async (method: string, path: string, body?: unknown, type?: string) => {
      const words = ['api', path, '-X', method, '--dangerously-skip-permissions']
      if (body !== undefined) words.push('--input', '-')
      if (type !== undefined) words.push('-H', `content-type: ${type}`)
      const said = await cli(words, { input: typeof body === 'string' ? body : JSON.stringify(body) })
      assertSaid(said, 0)
      assert.deepEqual(said.asked.at(-1), `${method} ${path.split('?', 1)[0]}`)
      return said.out.trim() === '' ? undefined : JSON.parse(said.out)
    }
    const project = async () => (await api('GET', '/v9/projects/web')).body

    await works('api createProject', async () => {
      const said = await cli(['api', '/v10/projects', '-X', 'POST', '-F', 'name=web', '-F', 'publicSource=false'])
      assertSaid(said, 0)
      assert.deepEqual(JSON.parse(said.out), await project())
      assert.equal((await project()).publicSource, false)
      const taken = await cli(['api', '/v10/projects', '-X', 'POST', '-F', 'name=web'])
      assertSaid(taken, 1, 'already exists', '(409)')
    })
    await works('api getProjects', async () => {
      for (const name of ['two', 'three']) await api('POST', '/v10/projects', { name })
      const { projects, pagination } = await ask('GET', '/v9/projects?limit=2')
      assert.deepEqual([projects.length, pagination.count], [2, 2])
      const all = await cli(['api', '/v9/projects?limit=2', '--paginate'])
      assertSaid(all, 0)
      for (const name of ['web', 'two', 'three']) assert.match(all.out, new RegExp(`"name": ?"${name}"`))
    })
    await works('api getProject', async () => assert.deepEqual(await ask('GET', '/v9/projects/web'), await project()))
    await works('api updateProject', async () => {
      assert.equal((await ask('PATCH', '/v9/projects/web', { framework: 'nextjs' })).framework, 'nextjs')
      assert.equal((await project()).framework, 'nextjs')
    })
    await works('api updateProjectDataCache', async () => {
      const { id } = (await project()) ?? {}
      assert.equal(
        (await ask('PATCH', `/v1/data-cache/projects/${id}`, { disabled: true })).dataCache.userDisabled,
        true,
      )
    })
    await works('api pauseProject', async () => {
      await ask('POST', `/v1/projects/${(await project()).id}/pause`)
      assert.equal((await project()).paused, true)
    })
    await works('api unpauseProject', async () => {
      await ask('POST', `/v1/projects/${(await project()).id}/unpause`)
      assert.equal((await project()).paused, false)
    })
    await works('api listPromoteAliases', async () => {
      const { id } = await project()
      assert.deepEqual(await ask('GET', `/v1/projects/${id}/promote/aliases`), {})
      await api('POST', `/v10/projects/${id}/domains`, { name: 'www.apps.example.net' })
      const deployment = await seedDeployment(world, id, { url: `api-${world.engine}.host.test` })
      await api('POST', `/v10/projects/${id}/promote/${deployment}`)
      const { aliases } = await ask('GET', `/v1/projects/${id}/promote/aliases`)
      assert.deepEqual([aliases.length, aliases[0].alias], [1, 'www.apps.example.net'])
    })
    await works('api addProjectDomain', async () => {
      assert.equal((await ask('POST', '/v10/projects/web/domains', { name: domain })).verified, false)
    })
    const at = `/v9/projects/web/domains/${domain}` as const
    await works('api getProjectDomains', async () => {
      const { domains } = await ask('GET', '/v9/projects/web/domains?verified=false')
      assert.deepEqual([domains.length, domains[0].name], [1, domain])
    })
    await works('api getProjectDomain', async () => assert.equal((await ask('GET', at)).name, domain))
    await works('api updateProjectDomain', async () => {
      assert.equal((await ask('PATCH', at, { gitBranch: 'next' })).gitBranch, 'next')
    })
    await works('api verifyProjectDomain', async () => {
      assertSaid(await cli(['api', `${at}/verify`, '-X', 'POST']), 1, '(400)')
      const [challenge] = (await api('GET', at)).body.verification
      dns.zones.set(challenge.domain, { txt: [[challenge.value]] })
      assert.equal((await ask('POST', `${at}/verify`)).verified, true)
    })
    await works('api removeProjectDomain', async () => {
      assert.deepEqual(await ask('DELETE', at), {})
      assert.equal((await api.try('GET', at)).status, 404)
    })

    let id = ''
    await works('api createProjectEnv', async () => {
      const one = { key: 'URL', value: 'first', type: 'encrypted', target: ['production'] }
      const { created, failed } = await ask('POST', '/v10/projects/web/env', one)
      assert.deepEqual([created.key, failed], ['URL', []])
      id = created.id
      await ask('POST', '/v10/projects/web/env?upsert=true', { ...one, comment: 'again' })
    })
    await works('api filterProjectEnvs', async () => {
      const { envs } = await ask('GET', '/v9/projects/web/env?decrypt=true')
      assert.deepEqual([envs.length, envs[0].id, envs[0].value, envs[0].comment], [1, id, 'first', 'again'])
    })
    await works('api getProjectEnv', async () => {
      assert.equal((await ask('GET', `/v1/projects/web/env/${id}`)).value, 'first')
    })
    await works('api editProjectEnv', async () => {
      assert.equal((await ask('PATCH', `/v9/projects/web/env/${id}`, { value: 'second' })).id, id)
      assert.equal((await api('GET', `/v1/projects/web/env/${id}`)).body.value, 'second')
    })
    await works('api removeProjectEnv', async () => {
      assert.equal((await ask('DELETE', `/v9/projects/web/env/${id}`)).key, 'URL')
      assert.equal((await api.try('GET', `/v1/projects/web/env/${id}`)).status, 404)
    })
    await works('api deleteProject', async () => {
      assert.equal(await ask('DELETE', '/v9/projects/web'), undefined)
      assert.equal((await api.try('GET', '/v9/projects/web')).status, 404)
      assertSaid(await cli(['api', '/v9/projects/web']), 1, 'Project "web" not found. (404)')
    })
    await works('api exchangeCode', async () => {
      const app = await seedIntegration(world)
      const { code } = await consentAndInstall(world, app)
      const fields = { client_id: app.clientId, client_secret: app.clientSecret, code, redirect_uri: REDIRECT }
      const form = await formOf(fields).text()
      const given = await ask('POST', '/v2/oauth/access_token', form, 'application/x-www-form-urlencoded')
      assert.deepEqual([given.token_type, given.team_id], ['Bearer', world.credentials.teamId])
      const seen = await world.as(given.access_token)('GET', `/v9/projects?teamId=${given.team_id}`)
      assert.deepEqual([seen.status, seen.body.projects.length], [200, 2])
    })
  },
  { BERTH_DNS_SERVERS: dns.address },
)
