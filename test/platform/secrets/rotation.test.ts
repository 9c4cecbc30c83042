/** Root keys are rotated online: killed at any time, shared by instances, retired only when no value needs them. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pino } from 'pino'
import { readConfig } from '../../../src/config.ts'
import { loadKeyring } from '../../../src/platform/secrets/root-keys.ts'
import { beginRotation } from '../../../src/platform/secrets/rotation.ts'
import { newKeyBytes } from '../../../src/platform/secrets/seal.ts'
import { openService } from '../../../src/service.ts'
import { clearRootKeys } from '../../support/states.ts'
import { ENGINES, newDatabase, onBothEngines, openWorld, type World } from '../../support/world.ts'
import { everyValueOpens, fill, KEYS } from './rotation-world.ts'

const ring = (world: World) =>
  JSON.parse(readFileSync(join(world.folder, 'keys.json'), 'utf8')).keys as { id: string }[]

onBothEngines(
  'a rotation makes a new key active, wraps every project key by it, and changes no value',
  async (world) => {
    await fill(world, 230)
    const before = (await world.operator('GET', KEYS)).body
    assert.deepEqual(before.keys, [{ id: before.activeKeyId, active: true, references: 230 }])
    const sealed = await world.deps.db.read.selectFrom('env_var').select('sealed_value').orderBy('id').execute()
    const rotated = await world.operator('POST', `${KEYS}/rotate`)
    assert.deepEqual([rotated.status, rotated.body.rewrapped], [200, 230])
    assert.notEqual(rotated.body.activeKeyId, before.activeKeyId)
    assert.equal(ring(world)[0]?.id, rotated.body.activeKeyId)
    const { keys } = (await world.operator('GET', KEYS)).body
    assert.deepEqual(
      Object.fromEntries(keys.map((key: { id: string; references: number }) => [key.id, key.references])),
      { [before.activeKeyId]: 0, [rotated.body.activeKeyId]: 230 },
    )
    assert.deepEqual(
      await world.deps.db.read.selectFrom('env_var').select('sealed_value').orderBy('id').execute(),
      sealed,
    )
    await everyValueOpens(world, 230)
    assert.doesNotMatch(rotated.text + JSON.stringify(keys), /"key"/)
  },
)

onBothEngines('a root key is retired at zero references, and only then', async (world) => {
  await fill(world, 3)
  const old = (await world.operator('GET', KEYS)).body.activeKeyId
  const retire = async (id: string) => (await world.operator.try('DELETE', `${KEYS}/${id}`)).status
  assert.equal(await retire(old), 409)
  await beginRotation(world.deps)
  assert.equal(await retire(old), 409, 'it still wraps three project keys')
  // The timer or the next rotation resumes a killed rotation, and creates no further key.
  const swept = await world.operator('POST', '/operator/v1/timers/rewrap-project-keys/run', {})
  assert.equal(swept.body.swept, 3)
  assert.equal(await retire(old), 204)
  assert.equal(await retire(old), 404)
  assert.deepEqual(ring(world).length, 1)
  await everyValueOpens(world, 3)
  await beginRotation(world.deps)
  const went = (await world.operator('POST', `${KEYS}/rotate`)).body
  assert.deepEqual([went.rewrapped, ring(world).length], [3, 2])
  await everyValueOpens(world, 3)
})

onBothEngines('a rotation after one by a clock that was ahead makes its key the active one', async (world) => {
  await fill(world, 2)
  const { clock } = world.deps
  clock.set(clock.now() + 3_600_000)
  await world.operator('POST', `${KEYS}/rotate`)
  clock.set(undefined)
  const { activeKeyId, rewrapped } = (await world.operator('POST', `${KEYS}/rotate`)).body
  assert.deepEqual([ring(world)[0]?.id, rewrapped], [activeKeyId, 2])
  await everyValueOpens(world, 2)
})

for (const engine of ENGINES) {
  test(`a new key of a keyring that was handed in whole becomes active at a restart [${engine}]`, async (t) => {
    const world = await openWorld(engine)
    t.after(() => world.close())
    await fill(world, 2)
    const [known] = ring(world)
    const added = { id: 'rk_added', key: newKeyBytes().toString('base64') }
    await world.stop()
    const operator = { authorization: `Bearer ${world.credentials.operatorToken}` }
    const headers = { authorization: `Bearer ${world.credentials.token}` }
    // Behind the others it is known and not used; in front it is the active one, and the other can be retired and taken out.
    for (const keys of [[known!, added], [added, known!], [added]]) {
      const config = { ...world.deps.config, keys: { text: JSON.stringify({ keys }) } }
      const { app, close } = await openService(config, pino({ level: 'silent' }), assert.ifError)
      const active = keys[0]!.id
      assert.equal((await app.inject({ url: KEYS, headers: operator })).json().activeKeyId, active)
      const refused = await app.inject({ method: 'POST', url: `${KEYS}/rotate`, headers: operator })
      assert.equal(refused.statusCode, 409)
      assert.match(refused.json().error.message, /BERTH_KEYS/)
      const timer = '/operator/v1/timers/rewrap-project-keys/run'
      await app.inject({ method: 'POST', url: timer, headers: operator })
      const list = (await app.inject({ url: KEYS, headers: operator })).json().keys
      assert.equal(list.find((key: { id: string }) => key.id === active).references, 2)
      const answer = await app.inject({ url: '/v9/projects/p1/env?decrypt=true', headers })
      assert.equal(answer.json().envs[0].value, 'of p1')
      const retire = async (id: string) =>
        (await app.inject({ method: 'DELETE', url: `${KEYS}/${id}`, headers: operator })).statusCode
      if (active === added.id && keys.length === 2)
        assert.deepEqual([await retire(added.id), await retire(known!.id)], [409, 204])
      await close()
    }
  })
}

test('instances on one PostgreSQL share a keyring file: a rotation by one is followed by the other', async (t) => {
  const one = await openWorld('postgres')
  const settings = { BERTH_DATA: one.folder, PORT: '0', BERTH_TIMERS: 'off' }
  const { database } = one.deps.config
  const config = readConfig({ ...settings, DATABASE_URL: database.engine === 'postgres' ? database.url : '' })
  const two = await openService(config, pino({ level: 'silent' }), assert.ifError)
  t.after(async () => {
    await two.close()
    await one.close()
  })
  await fill(one, 20)
  const headers = { authorization: `Bearer ${one.credentials.token}` }
  const opens = async (service: typeof two) => {
    for (let at = 0; at < 20; at++) {
      const answer = await service.app.inject({ url: `/v9/projects/p${at}/env?decrypt=true`, headers })
      assert.equal(answer.json().envs[0].value, `of p${at}`)
    }
  }
  const operator = { authorization: `Bearer ${one.credentials.operatorToken}` }
  const rotate = (service: typeof two) =>
    service.app.inject({ method: 'POST', url: `${KEYS}/rotate`, headers: operator })
  await opens(two)
  assert.equal((await rotate(one)).statusCode, 200)
  await opens(two)
  // Both at once, and writes in between: no key is lost from the file.
  const answers = await Promise.all([rotate(one), rotate(two), rotate(one), rotate(two), fill(one, 5, 20)])
  for (const answer of answers) if (answer) assert.equal(answer.statusCode, 200, answer.body)
  const { keys } = (await one.app.inject({ url: KEYS, headers: operator })).json()
  const inFile = ring(one).map(({ id }) => id)
  for (const { id } of keys) assert.ok(inFile.includes(id), `${id} is in the file`)
  await rotate(two)
  await opens(one)
  await opens(two)
})

test('of two instances that start together on nothing, both use the one keyring', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-test-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const url = await newDatabase()
  const config = readConfig({ BERTH_DATA: folder, DATABASE_URL: url, PORT: '0', BERTH_TIMERS: 'off' })
  const services = await Promise.all(
    [1, 2, 3].map(() => openService(config, pino({ level: 'silent' }), assert.ifError)),
  )
  const ids = new Set(services.map(({ deps }) => deps.keyring.ids().join()))
  assert.equal(ids.size, 1)
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('keys')),
    ['keys.json'],
  )
  for (const service of services) await service.close()
})

onBothEngines(
  'of two first starts with different keyrings one is refused: values of the other would be lost',
  async (world) => {
    const { db, clock } = world.deps
    await clearRootKeys(world)
    let looked = 0
    let meet = () => {}
    const met = new Promise<void>((resolve) => {
      meet = resolve
    })
    // Both have seen a store without keys before either writes its own.
    const write: typeof db.write = async (work) => {
      if (++looked === 2) meet()
      await met
      return db.write(work)
    }
    const starts = ['rk_one', 'rk_two'].map((id, at) => {
      const keys = { keys: [{ id, key: Buffer.alloc(32, at).toString('base64') }] }
      const config = readConfig({ BERTH_DATA: world.folder, BERTH_KEYS: JSON.stringify(keys) })
      return loadKeyring(config, { ...db, write }, clock)
    })
    const ends = await Promise.allSettled(starts)
    assert.deepEqual(ends.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
    const refused = ends.find((end) => end.status === 'rejected')
    assert.match(String(refused?.reason), /lacks the key rk_(one|two), which this store needs/)
    assert.equal((await db.read.selectFrom('root_key').selectAll().execute()).length, 1)
  },
)
