/** One deployment by every CLI: what it asks of it differs from version to version. */
import assert from 'node:assert/strict'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import { storeReport } from '../../src/delivery/logs/store-lines.ts'
import { seedDeployment } from '../support/projects.ts'
import { openCertificates } from '../support/servers/certificates.ts'
import { assertSaid, type CliWorld, onEveryCli } from './cli-world.ts'

const { cert, key, certText, keyText } = openCertificates({ after }).make('clients')
/** The name that the certificate is for, where the deployment is served. */
const SERVED = 'berth.test'

const site = createServer({ cert: certText, key: keyText }, ({ headers, url }, response) => {
  response.end(`${url} with ${headers['x-vercel-protection-bypass']}\n`)
}).listen(0, '127.0.0.1')
after(() => site.close())

onEveryCli(
  'one deployment',
  async (world) => {
    const { cli, works, api, link, version, deps } = world
    assert.equal(deps.config.tls !== undefined, version === '50.44.0')
    const project = (await api('POST', '/v10/projects', { name: 'web' })).body
    link(project)
    const commit = { githubCommitSha: 'sha1', githubCommitRef: 'dev' }
    const kept = await seedDeployment(world, project.id, { url: SERVED, target: 'preview', meta: commit })
    const id = await seedDeployment(world, project.id, { url: 'gone.host.test' })
    await works('ls --meta', async () => {
      for (const words of [['ls'], ['ls', 'web', '--yes']]) {
        const said = await cli([...words, '--meta', 'githubCommitSha=sha1'])
        assertSaid(said, 0, `https://${SERVED}`)
        assert.doesNotMatch(said.out + said.err, /gone\.host/)
      }
      const none = await cli(['ls', '--meta', 'githubCommitSha=none'])
      assert.doesNotMatch(none.out + none.err, /gone\.host|berth\.test/)
    })
    await works('inspect', async () => {
      assertSaid(await cli(['inspect', 'gone.host.test']), 0, id, 'https://gone.host.test', /Ready/i)
      assertSaid(await cli(['inspect', 'none.host.test']), 1)
    })
    if (version !== '33.7.1')
      await works('inspect --logs', async () => {
        assertSaid(await cli(['inspect', id, '--logs']), 0, 'The deployment is READY.', 'It was not built here')
      })
    if (version === '39.1.3')
      await works('logs', async () => {
        assertSaid(await cli(['logs', 'gone.host.test']), 1, 'Functions of this deployment wrote no such line')
      })
    if (version === '64.0.2') await readLogs(world, id)
    await works('dev, as far as the pull', async () => {
      const said = await cli(['dev', '--yes', '--listen', '0'], { until: 'Ready!' })
      assert.ok(said.out.includes('Ready!') || said.err.includes('Ready!'), said.out + said.err)
      assert.match(said.asked.join(), /GET \/v[123]\/env\/pull\/prj_/)
    })
    await works('curl', () => passProtection(world, project.id, kept))
    await works('remove', async () => {
      assertSaid(await cli(['remove', id, '--yes']), 0, 'gone.host.test')
      assert.equal((await api.try('GET', `/v13/deployments/${id}`)).status, 404)
      assert.equal((await api('GET', `/v13/deployments/${kept}`)).status, 200)
    })
  },
  { BERTH_TLS_CERT: cert, BERTH_TLS_KEY: key },
)

/** Lines of functions, for reading users and as JSON, and the requests that they are of. */
async function readLogs({ cli, works, deps }: CliWorld, deploymentId: string): Promise<void> {
  const of = { deploymentId, date: deps.clock.now() - 5000, requestId: 'request-1', method: 'GET', host: 'web.example' }
  const lines = [
    { ...of, level: 'info' as const, text: 'said it', path: '/a', status: 200 },
    { ...of, level: 'error' as const, text: 'broke', path: '/b', status: 500, requestId: 'request-2' },
  ]
  await storeReport(deps, { server: 'serverserver0001', sequence: 1, lines })
  await works('logs', async () => {
    const said = await cli(['logs'])
    assertSaid(said, 0, /info +function +said it/, /error +function +broke/)
    assert.ok(said.asked.includes('POST /v1/observability/events'))
    const some = await cli(['logs', '--query', 'level:error'])
    assertSaid(some, 0, 'broke')
    assert.doesNotMatch(some.out + some.err, /said it/)
  })
  await works('logs --json', async () => {
    const data = async (words: string[]) => {
      const said = await cli([...words, '--json'])
      assertSaid(said, 0)
      const found = said.out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).data ?? {})
      return found.filter((one) => one.requestId !== undefined)
    }
    const messages = await data(['logs'])
    assert.deepEqual(
      messages.map(({ level, message, requestId }) => [level, message, requestId]),
      [
        ['error', 'broke', 'request-2'],
        ['info', 'said it', 'request-1'],
      ],
    )
    const requests = await data(['logs', 'requests', '--deployment', deploymentId])
    assert.deepEqual(requests.map(({ httpStatus, requestPath }) => [httpStatus, requestPath]).sort(), [
      [200, '/a'],
      [500, '/b'],
    ])
  })
}

/** The CLI has Berth make a secret, and gives it to the machine's curl, which asks the site by its name. 64.0.2 gives curl `--api` and `--token` too when they are there. */
async function passProtection({ cli, api }: CliWorld, projectId: string, deployment: string): Promise<void> {
  const { port } = site.address() as AddressInfo
  const to = ['--', '-sS', '--cacert', cert, '--connect-to', `${SERVED}:443:127.0.0.1:${port}`]
  for (const _ of ['made', 'found']) {
    const said = await cli(['curl', '/hello', '--deployment', deployment, ...to], { fromFolder: true })
    const secrets = Object.keys((await api('GET', `/v9/projects/${projectId}`)).body.protectionBypass ?? {})
    assertSaid(said, 0, `/hello with ${secrets[0]}`)
    assert.match(secrets.join(), /^[A-Za-z0-9]{32}$/)
  }
}
