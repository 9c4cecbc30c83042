/** What was built elsewhere, deployed by every CLI: a folder of the Build Output API, whole, as an archive, again and once more. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { after } from 'node:test'
import { openCertificates } from '../support/servers/certificates.ts'
import { assertSaid, type CliWorld, onEveryCli, type Said } from './cli-world.ts'

const { cert, key } = openCertificates({ after }).make('clients')
const ADDRESS = /https:\/\/(web-[a-z0-9]{9}\.apps\.example\.net)/

/** Writes an output into the folder that the CLI is run in. Equal ones, sent within seconds, would be one deployment. */
function build({ at }: CliWorld, text: string, more: Record<string, string> = {}): void {
  const files = { 'config.json': '{"version":3}', 'static/index.html': text, 'static/a/b.css': 'h1 {}', ...more }
  for (const [name, content] of Object.entries(files)) {
    const path = at('work', '.vercel', 'output', name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
  }
}

onEveryCli(
  'an output that was built elsewhere',
  async (world) => {
    const { cli, works, api, link, version } = world
    const project = (await api('POST', '/v10/projects', { name: 'web' })).body
    link(project)
    /** What the CLI printed as the address of what it deployed. */
    const deployed = async (said: Said) => {
      assert.equal(said.code, 0, said.out + said.err)
      const url = ADDRESS.exec(said.out)?.[1] ?? assert.fail(said.out + said.err)
      const { body } = await api('GET', `/v13/deployments/${url}`)
      assert.equal(body.readyState, 'READY')
      return body
    }
    const deploy = (...words: string[]) => cli(['deploy', '--prebuilt', '--yes', ...words])
    await works('deploy --prebuilt', async () => {
      build(world, 'first')
      const { id, target } = await deployed(await deploy())
      assert.equal(target, null)
      const [folder, page] = (await api('GET', `/v6/deployments/${id}/files`)).body
      assert.deepEqual([folder!.name, page!.name], ['a', 'index.html'])
      const { data } = (await api('GET', `/v8/deployments/${id}/files/${page!.uid}`)).body
      assert.equal(Buffer.from(data, 'base64').toString(), 'first')
    })
    await works('deploy --prebuilt --prod', async () => {
      build(world, 'second')
      const { id, target } = await deployed(await deploy('--prod'))
      assert.equal(target, 'production')
      assert.equal((await api('GET', '/v9/projects/web')).body.targets.production.id, id)
    })
    await works('deploy --prebuilt --archive=tgz', async () => {
      build(world, 'third')
      const { id } = await deployed(await deploy('--archive=tgz'))
      assert.equal((await api('GET', `/v6/deployments/${id}/files`)).body.length, 2)
    })
    await works('deploy --prebuilt --no-wait --force', async () => {
      build(world, 'fourth')
      const { url } = await deployed(await deploy('--no-wait', '--force', '--meta', 'a=b'))
      assertSaid(await cli(['inspect', url]), 0, url, /Ready/i)
      if (version !== '33.7.1')
        assertSaid(await cli(['inspect', url, '--logs']), 0, 'The deployment is READY.', 'where it was built')
      assertSaid(await cli(['ls', '--meta', 'a=b']), 0, url)
      const again = await deployed(await cli(['redeploy', url, '--scope', 'team']))
      assert.deepEqual([again.url === url, again.meta.a, again.meta.action], [false, 'b', 'redeploy'])
      assertSaid(await cli(['remove', again.id, '--yes', '--scope', 'team']), 0)
      assert.equal((await api.try('GET', `/v13/deployments/${again.id}`)).status, 404)
    })
    await works('deploy --prebuilt, with an error', async () => {
      build(world, 'fifth', { 'config.json': '{"version":2}' })
      assertSaid(await deploy(), 1, 'config.json: version must be 3')
    })
    await works('deploy, of sources', async () => {
      writeFileSync(world.at('work', 'index.html'), 'source')
      assertSaid(await cli(['deploy', '--yes']), 1, 'vercel build && vercel deploy --prebuilt')
    })
  },
  { BERTH_TLS_CERT: cert, BERTH_TLS_KEY: key },
)
