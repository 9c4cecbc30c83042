/** The package that programs use to deploy without a command line (`@vercel/client`), as it is published. docs/clients.md. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onBothEngines } from '../support/world.ts'
import { SETTINGS } from '../support/worlds/deploy-world.ts'
import { folderOf, note } from './ledger.ts'

const CLIENT = 'other-vercel-client'

type Event = { type: string; payload: { id?: string; url?: string; readyState?: string } }
type CreateDeployment = (client: object, deployment: object) => AsyncIterable<Event>

/** Deploys a folder to its end. Returns the types of its events, each with its last payload. */
async function deploy(client: object, deployment: object = {}) {
  const load = createRequire(join(folderOf(CLIENT), 'of-tests.js'))
  const { createDeployment } = load('@vercel/client') as { createDeployment: CreateDeployment }
  const told = new Map<string, Event['payload']>()
  for await (const { type, payload } of createDeployment(client, deployment)) told.set(type, payload)
  assert.equal(told.has('error'), false, JSON.stringify(told.get('error')))
  return told
}

onBothEngines(
  'the package of deployments uploads a prebuilt folder, plain and as an archive, and follows it until it is there',
  async (world, t) => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-client-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const output = join(folder, '.vercel', 'output')
    mkdirSync(join(output, 'static'), { recursive: true })
    writeFileSync(join(output, 'config.json'), '{"version":3}')
    const apiUrl = await world.listen()
    const { token } = world.credentials
    const client = { token, apiUrl, path: folder, prebuilt: true, vercelOutputDir: output, projectName: 'web' }
    const skip = { skipAutoDetectionConfirmation: true }
    const works = async (operation: string, more: object, said: object) => {
      writeFileSync(join(output, 'static', 'index.html'), operation)
      const told = await deploy({ ...client, ...skip, ...more }, { name: 'web', ...said })
      for (const type of ['hashes-calculated', 'created', 'ready', 'alias-assigned']) assert.ok(told.has(type), type)
      const { body } = await world.call('GET', `/v13/deployments/${told.get('created')!.id!}`)
      assert.equal(body.readyState, 'READY')
      const files = (await world.call('GET', `/v6/deployments/${body.id}/files`)).body
      assert.deepEqual(
        files.map(({ name }) => name),
        ['index.html'],
      )
      note({ client: CLIENT, operation, engine: world.engine, outcome: 'works' })
      return body
    }
    assert.equal((await works('deployments: create of files', {}, {})).target, null)
    const live = await works('deployments: create for production', {}, { target: 'production' })
    assert.equal((await world.call('GET', '/v9/projects/web')).body.targets.production.id, live.id)
    await works('deployments: create of an archive', { archive: 'tgz' }, {})
  },
  SETTINGS,
)
