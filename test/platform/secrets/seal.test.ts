/** Sealing at rest: the store reveals nothing without the keyring, and a ciphertext opens only where it was sealed. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sql } from 'kysely'
import { pino } from 'pino'
import { type Config, readConfig } from '../../../src/config.ts'
import { openKeyring } from '../../../src/platform/secrets/keyring.ts'
import { associatedData, newKeyBytes, open, seal, toSecretKey } from '../../../src/platform/secrets/seal.ts'
import { openService } from '../../../src/service.ts'
import { root } from '../../support/root.ts'
import { tamper } from '../../support/states.ts'
import { ENGINES, onBothEngines, openWorld, type World } from '../../support/world.ts'

test('of every bit changed, every cut and every other place, none opens', () => {
  const key = toSecretKey(newKeyBytes())
  const place = associatedData('env', 'prj_1', 'env_1', 'value')
  const sealed = seal(key, Buffer.from('a secret'), place)
  assert.equal(open(key, sealed, place)?.toString(), 'a secret')
  const bytes = Buffer.from(sealed, 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    assert.equal(open(key, changed.toString('base64url'), place), undefined, `bit ${bit}`)
  }
  for (let length = 0; length < bytes.length; length++) {
    assert.equal(open(key, bytes.subarray(0, length).toString('base64url'), place), undefined, `cut to ${length}`)
  }
  for (const parts of [
    ['env', 'prj_1', 'env_2', 'value'],
    ['env', 'prj_1e', 'nv_1', 'value'],
    ['env', 'prj_1env_1', 'value'],
  ]) {
    assert.equal(open(key, sealed, associatedData(...parts)), undefined)
  }
  assert.equal(open(toSecretKey(newKeyBytes()), sealed, place), undefined)
  assert.notEqual(seal(key, Buffer.from('a secret'), place), sealed)
  assert.equal(open(key, seal(key, Buffer.alloc(0), place), place)?.length, 0)
})

const CANARIES = [
  'canary-plain-4711',
  'canary-encrypted-4712',
  'canary-sensitive-4713',
  'canary-secret-4714',
  'canary-2-4715',
]

onBothEngines('no value is in the database file, its log, the service log, the events or the errors', async (world) => {
  const { call } = world
  await call('POST', '/v10/projects', {
    name: 'web',
    environmentVariables: [{ key: 'E', value: CANARIES[1], type: 'encrypted', target: 'preview' }],
  })
  const url = '/v10/projects/web/env'
  const made = await call('POST', url, [
    { key: 'A', value: CANARIES[0], type: 'plain', target: ['production'] },
    { key: 'C', value: CANARIES[2], type: 'sensitive', target: ['production'] },
    { key: 'D', value: CANARIES[3], type: 'secret', target: ['production'] },
  ])
  const one = `/v9/projects/web/env/${made.body.created[1].id}` as const
  const refused = [
    await call.try('POST', url, { key: 'bad key', value: CANARIES[0], target: ['preview'] }),
    await call.try('POST', url, { key: 'A', value: CANARIES[0], target: ['production'] }),
    await call.try('POST', url, `{"key": "A", "value": "${CANARIES[0]}"`),
    await call.try('POST', url, { key: 'A', value: [CANARIES[0]], target: ['production'] }),
    await call.try('PATCH', one, { type: 'system', value: CANARIES[2] }),
  ]
  for (const { status, text } of refused) {
    assert.ok(status >= 400, text)
    assert.doesNotMatch(text, /canary/)
  }
  await call('PATCH', one, { value: CANARIES[4] })
  await call('DELETE', `/v9/projects/web/env/${made.body.created[2].id}`)
  await call('GET', `${url}?decrypt=true`)
  const places = [await everythingIn(world), world.logged(), readFolder(world.folder)]
  for (const [at, text] of places.entries()) {
    for (const canary of CANARIES) assert.equal(text.includes(canary), false, `${canary} in place ${at}`)
  }
  // The search would find them: values that are not secret are there.
  assert.ok(world.engine === 'postgres' ? places[0]!.includes('env_target') : places[2]!.includes('env_target'))
})

async function everythingIn({ deps, engine }: World): Promise<string> {
  if (engine === 'sqlite') return ''
  const { rows } = await sql<{ table_name: string }>`
    select table_name from information_schema.tables where table_schema = 'public'`.execute(deps.db.read)
  const texts: string[] = []
  for (const { table_name } of rows) {
    const dump = await sql<{
      row: string
    }>`select ${sql.table(table_name)}::text as row from ${sql.table(table_name)}`.execute(deps.db.read)
    texts.push(table_name, ...dump.rows.map(({ row }) => row))
  }
  return texts.join('\n')
}

function readFolder(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n')
}

function flipLast(sealed: string): string {
  const bytes = Buffer.from(sealed, 'base64url')
  bytes[bytes.length - 1]! ^= 0xff
  return bytes.toString('base64url')
}

onBothEngines('a ciphertext copied to another row, version or project does not open (logs an error)', async (world) => {
  const { call, deps } = world
  for (const name of ['one', 'two']) await call('POST', '/v10/projects', { name })
  const secret = (key: string, value: string) => ({ key, value, type: 'encrypted', target: ['preview'] })
  const mine = (await call('POST', '/v10/projects/one/env', [secret('A', 'own-a'), secret('B', 'own-b')])).body.created
  const theirs = (await call('POST', '/v10/projects/two/env', secret('A', 'foreign'))).body.created
  await call('PATCH', `/v9/projects/one/env/${mine[0].id}`, { value: 'own-a2' })
  const sealedOf = async (table: 'env_var' | 'env_history', id: string) =>
    (
      await deps.db.read
        .selectFrom(table)
        .select('sealed_value')
        .where(table === 'env_var' ? 'id' : ('env_id' as 'id'), '=', id)
        .executeTakeFirstOrThrow()
    ).sealed_value!
  const original = await sealedOf('env_var', mine[0].id)
  const copies = [
    await sealedOf('env_var', mine[1].id),
    await sealedOf('env_var', theirs.id),
    await sealedOf('env_history', mine[0].id),
    'nonsense',
    // Every bit of its last byte is another, whatever it was.
    flipLast(original),
  ]
  const one = `/v1/projects/one/env/${mine[0].id}` as const
  for (const copy of copies) {
    await tamper(world, 'env_var', { sealed_value: copy }, { id: mine[0].id })
    const refused = await call.try('GET', one)
    assert.deepEqual([refused.status, refused.body.error.code], [500, 'internal_server_error'])
    assert.doesNotMatch(refused.text, /own-|foreign|seal/)
    const { envs } = (await call('GET', '/v9/projects/one/env?decrypt=true')).body
    const shown = Object.fromEntries(envs.map((env: { key: string; value: string }) => [env.key, env.value]))
    assert.deepEqual(shown, { A: '', B: 'own-b' })
  }
  const line = world
    .logged()
    .split('\n')
    .find((text) => text.includes('does not open'))
  assert.ok(line?.includes(mine[0].id))
  assert.doesNotMatch(world.logged(), /own-a|own-b|foreign/)
  // A new value repairs it.
  assert.equal((await call('PATCH', `/v9/projects/one/env/${mine[0].id}`, { value: 'mended' })).status, 200)
  assert.equal((await call('GET', one)).body.value, 'mended')
})

onBothEngines('a data key copied to another project does not open its values (logs an error)', async (world) => {
  const { call, deps } = world
  for (const name of ['one', 'two']) {
    await call('POST', '/v10/projects', { name })
    await call('POST', `/v10/projects/${name}/env`, { key: 'A', value: name, target: ['preview'] })
  }
  const [first, second] = await deps.db.read.selectFrom('project_key').selectAll().execute()
  const { id, root_key_id, wrapped_key } = first!
  const { sealed_value, value_version } = await deps.db.read
    .selectFrom('env_var')
    .selectAll()
    .where('project_id', '=', first!.project_id)
    .executeTakeFirstOrThrow()
  const { project_id } = second!
  await tamper(world, 'project_key', { id, root_key_id, wrapped_key }, { project_id })
  await tamper(world, 'env_var', { sealed_value, value_version }, { project_id })
  const { envs } = (await call('GET', `/v9/projects/${second!.project_id}/env?decrypt=true`)).body
  assert.deepEqual([envs[0].value, envs[0].decrypted], ['', false])
})

const silent = pino({ level: 'silent' })
const start = (config: Config) => openService(config, silent, (error) => assert.fail(String(error)))

for (const engine of ENGINES) {
  test(`a store starts only with the very keyring it was written with [${engine}]`, async (t) => {
    const world = await openWorld(engine)
    t.after(() => world.close())
    const { config } = world.deps
    const file = join(world.folder, 'keys.json')
    assert.equal(statSync(file).mode & 0o777, 0o600)
    await world.call('POST', '/v10/projects', {
      name: 'web',
      environmentVariables: [{ key: 'A', value: 'kept', target: 'preview' }],
    })
    const right = readFileSync(file, 'utf8')
    const { id } = JSON.parse(right).keys[0]
    await world.stop()

    const refuses = async (says: RegExp, keys: Config['keys'] = { file }) => {
      await assert.rejects(start({ ...config, keys }), (error: Error) => {
        assert.match(error.message, says)
        assert.doesNotMatch(
          error.message,
          new RegExp(JSON.parse(right).keys[0].key.slice(0, 20).replaceAll('+', '\\+')),
        )
        return true
      })
    }
    const other = (as: string) => JSON.stringify({ keys: [{ id: as, key: newKeyBytes().toString('base64') }] })
    await refuses(new RegExp(`lacks the key ${id}`), { text: other('rk_other') })
    await refuses(new RegExp(`key ${id} .* is not the one`), { text: other(id) })
    await refuses(/not JSON/, { text: '{"keys":' })
    await refuses(/no list "keys"/, { text: '{}' })
    await refuses(/32 bytes/, { text: '{"keys":[{"id":"a","key":"c2hvcnQ="}]}' })
    chmodSync(file, 0o644)
    await refuses(/chmod 600/)
    chmodSync(file, 0o600)
    writeFileSync(file, '')
    await refuses(/not JSON/)
    renameSync(file, `${file}.away`)
    await refuses(/is missing/)
    assert.equal(existsSync(file), false, 'no new keyring is made for a store that needs the old one')

    for (const keys of [{ text: right }, { file: `${file}.away` }]) {
      writeFileSync(`${file}.away`, right)
      const again = await start({ ...config, keys })
      const authorization = `Bearer ${world.credentials.token}`
      const answer = await again.app.inject({ url: '/v9/projects/web/env?decrypt=1', headers: { authorization } })
      assert.equal(answer.json().envs[0].value, 'kept')
      await again.close()
    }
  })
}

test('a service whose keyring does not fit ends with 1 and one line that says what to do', async (t) => {
  const world = await openWorld('sqlite')
  t.after(() => world.close())
  await world.stop()
  const [{ id }] = JSON.parse(readFileSync(join(world.folder, 'keys.json'), 'utf8')).keys
  const other = { keys: [{ id: 'rk_other', key: newKeyBytes().toString('base64') }] }
  const env = { PATH: process.env.PATH, BERTH_DATA: world.folder, PORT: '0', BERTH_KEYS: JSON.stringify(other) }
  const program = join(root, 'bin', 'berth.mjs')
  const { status, stderr, stdout } = spawnSync(process.execPath, [program], { env, encoding: 'utf8', timeout: 300_000 })
  assert.equal(status, 1)
  assert.match(stderr, new RegExp(`^berth: the keyring BERTH_KEYS lacks the key ${id}, .*backup.*\\n$`))
  assert.equal((stdout + stderr).includes(other.keys[0]!.key), false)
})

test('a keyring that has an id twice is refused: it does not say which key it means', () => {
  const key = (byte: number) => Buffer.alloc(32, byte).toString('base64')
  const ring = (...ids: string[]) => ({ text: JSON.stringify({ keys: ids.map((id, at) => ({ id, key: key(at) })) }) })
  assert.throws(() => openKeyring(ring('rk_a', 'rk_b', 'rk_a'), () => true), /has an id twice/)
  assert.deepEqual(openKeyring(ring('rk_a', 'rk_b'), () => true).ids(), ['rk_a', 'rk_b'])
})

test('BERTH_KEYS is a path or the keyring itself', () => {
  assert.deepEqual(readConfig({ BERTH_DATA: '/data' }).keys, { file: '/data/keys.json' })
  assert.deepEqual(readConfig({ BERTH_KEYS: '/etc/berth/keys' }).keys, { file: '/etc/berth/keys' })
  assert.deepEqual(readConfig({ BERTH_KEYS: ' {"keys":[]}' }).keys, { text: '{"keys":[]}' })
})
