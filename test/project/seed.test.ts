/** `npm run dev` and `npm run seed`: example data, made through the API. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { withQuery } from '../support/call.ts'
import { callerAt, credentialsOf, launch, newHome, processOnBothEngines, startService } from '../support/process.ts'
import { root } from '../support/root.ts'
import { freePort } from '../support/servers/free-port.ts'

processOnBothEngines(
  'seed fills the first team once, through the API, and a second run changes nothing',
  async (t, engine) => {
    const home = await newHome(t, engine)
    const { address } = await startService(t, home)
    const env = { PATH: process.env.PATH, BERTH_DATA: home.folder, BERTH_PUBLIC_URL: address }
    const seed = () => promisify(execFile)(process.execPath, ['scripts/seed.ts'], { cwd: root, env })
    assert.match((await seed()).stdout, /the projects shop, docs, api and the integration example-monitor are in/)
    const before = await whatIsThere(address, home.folder)
    assert.match((await seed()).stdout, /already/)
    assert.deepEqual(await whatIsThere(address, home.folder), before)
    assert.deepEqual(before, {
      projects: ['api', 'docs', 'shop'],
      domains: ['next.shop.example.com', 'shop.example.com', 'www.shop.example.com'],
      variables: ['API_URL', 'API_URL', 'DATABASE_URL', 'PAYMENT_KEY'],
      deployments: 3,
      installations: 1,
    })
  },
)

test('dev starts the service and fills it, and a signal ends both', { timeout: 300_000 }, async (t: TestContext) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-dev-'))
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  const env = { BERTH_DATA: folder, PORT: String(await freePort()), BERTH_EDGE_PORT: 'off' }
  const dev = launch(t, { folder, env }, {}, [process.execPath, 'scripts/dev.ts'])
  await new Promise<void>((resolve, reject) => {
    dev.child.stdout?.on('data', () => {
      if (/npm run dev: the projects shop, docs, api/.test(dev.out())) resolve()
    })
    dev.child.on('close', () => reject(new Error(`ended: ${dev.out()}${dev.err()}`)))
  })
  assert.equal((await whatIsThere(`http://127.0.0.1:${env.PORT}`, folder)).deployments, 3)
  await dev.kill('SIGTERM')
  await assert.rejects(fetch(`http://127.0.0.1:${env.PORT}/readyz`))
})

async function whatIsThere(address: string, folder: string) {
  const { token, teamId } = credentialsOf({ folder, env: {} })
  const call = callerAt({ address }, token)
  const get = async <const U extends string>(path: U) => (await call('GET', withQuery(path, `teamId=${teamId}`))).body
  const sorted = <Field extends string>(rows: Record<Field, string>[], field: Field) =>
    rows.map((row) => row[field]).sort()
  return {
    projects: sorted((await get('/v9/projects')).projects, 'name'),
    domains: sorted((await get('/v9/projects/shop/domains')).domains, 'name'),
    variables: sorted((await get('/v9/projects/shop/env')).envs, 'key'),
    deployments: (await get('/v6/deployments')).deployments.length,
    installations: (await get('/v1/integrations/configurations')).length,
  }
}
