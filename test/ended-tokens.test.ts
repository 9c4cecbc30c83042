/** A token that ends by itself, revoked or because its code came again: nothing is committed with it after the answer. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { type App, exchange, formOf, install, makeIntegration } from './integration-world.ts'
import { onBothEngines, type World } from './world.ts'

type Given = { app: App; code: string; token: string }

const WAYS: Record<string, (world: World, given: Given) => Promise<unknown>> = {
  'a revoked token': async (world, { app, token }) => {
    const form = formOf({ client_id: app.clientId, client_secret: app.clientSecret, token })
    assert.equal((await world.as(undefined)('POST', '/v2/oauth/revoke', form)).status, 200)
  },
  'the token of a code that came again': async (world, { app, code }) => {
    assert.equal((await exchange(world, app, code)).status, 400)
  },
}

for (const [what, end] of Object.entries(WAYS)) {
  onBothEngines(`no write of ${what} is committed after the answer`, async (world) => {
    const team = `teamId=${world.credentials.teamId}`
    const { body: project } = await world.call('POST', `/v10/projects?${team}`, { name: 'site' })
    const app = await makeIntegration(world)
    const { code } = await install(world, app)
    const token: string = (await exchange(world, app, code)).body.access_token
    const url = `/v10/projects/${project.id}/env?${team}`
    const variable = { key: 'KEY', value: 'value', target: ['production'], type: 'plain' }

    const order: string[] = []
    const release = Promise.withResolvers<void>()
    const held = holdProject(world, project.id, release.promise)
    await held.begun
    const write = world
      .as(token)('POST', url, variable)
      .then(({ status }) => order.push(`write ${status}`))
    await sleep(100)
    const ended = end(world, { app, code, token }).then(() => order.push('ended'))
    await sleep(100)
    release.resolve()
    await Promise.all([write, ended, held.done])
    assert.deepEqual(order, ['write 201', 'ended'])
    assert.equal((await world.as(token)('POST', url, { ...variable, key: 'LATER' })).status, 401)
  })
}

/** Keeps writes to the project under way until it is told to let go. */
function holdProject({ deps: { db } }: World, id: string, until: Promise<void>) {
  const begun = Promise.withResolvers<void>()
  const done = db.write(async (tx) => {
    const row = tx.selectFrom('project').select('id').where('id', '=', id)
    await (db.engine === 'postgres' ? row.forUpdate() : row).execute()
    begun.resolve()
    await until
  })
  return { begun: begun.promise, done }
}
