/** The encrypted copy of the keyring: it opens with its passphrase alone, is known once it was verified elsewhere, and brings every value back. docs/variables.md: Encrypted keyring copy. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openKeyringCopy, sealKeyringCopy } from '../../../src/platform/secrets/keyring-copy.ts'
import { berth } from '../../support/clients/command.ts'
import { bucketSettings, strictServer } from '../../support/servers/bucket-server.ts'
import { onBothEngines, openWorld, type World } from '../../support/world.ts'

const PASSPHRASE = 'correct horse battery staple'
const KEYS = { keys: [{ id: 'rk_one', key: Buffer.alloc(32, 1).toString('base64') }] }
const COPY = 's3://berth-backups/keyring.json'

test('a copy opens with its passphrase alone, and no bit of it can be changed', async () => {
  const text = await sealKeyringCopy(KEYS, PASSPHRASE, '2026-11-22T00:00:00.000Z')
  assert.equal(text.includes(KEYS.keys[0]!.key), false)
  assert.deepEqual(await openKeyringCopy(text, PASSPHRASE, 'it'), KEYS)
  const copy = JSON.parse(text)
  const other = (change: object) => openKeyringCopy(JSON.stringify({ ...copy, ...change }), PASSPHRASE, 'it')
  const flipped = Buffer.from(copy.sealed, 'base64url')
  flipped[3]! ^= 1
  await assert.rejects(openKeyringCopy(text, 'correct horse battery stapl', 'it'), /the passphrase is another one/)
  await assert.rejects(other({ sealed: flipped.toString('base64url') }), /or the copy was changed/)
  await assert.rejects(other({ madeAt: '2027' }), /or the copy was changed/)
  await assert.rejects(other({ version: 2 }), /use a newer one/)
  await assert.rejects(other({ kdf: { ...copy.kdf, N: 2 ** 30 } }), /is damaged/)
  await assert.rejects(other({ kdf: { ...copy.kdf, p: 1000 } }), /is damaged/)
  await assert.rejects(other({ sealed: 'x' }), /is damaged/)
  await assert.rejects(openKeyringCopy('{}', PASSPHRASE, 'it'), /is not a copy of a keyring/)
  const accents = ['caf\u00e9 caf\u00e9 caf\u00e9', 'cafe\u0301 cafe\u0301 cafe\u0301'] as const
  assert.deepEqual(await openKeyringCopy(await sealKeyringCopy(KEYS, accents[0], 'x'), accents[1], 'it'), KEYS)
})

async function figure(world: World): Promise<number> {
  const { text } = await world.operator('GET', '/metrics')
  return Number(/^berth_keyring_copy_verified (\S+)$/m.exec(text)?.[1])
}

async function environment(world: World, endpoint: string): Promise<Record<string, string>> {
  const { database } = world.deps.config
  return {
    ...bucketSettings(endpoint),
    BERTH_DATA: world.folder,
    DATABASE_URL: database.engine === 'postgres' ? database.url : `sqlite:${database.file}`,
    BERTH_PUBLIC_URL: await world.listen(),
    BERTH_DNS_SERVERS: '127.0.0.1:1',
    BERTH_KEYS_PASSPHRASE: PASSPHRASE,
  }
}

onBothEngines(
  'doctor and the metric warn until a copy elsewhere was verified, and again after a rotation',
  async (world, t) => {
    const env = await environment(world, (await strictServer(t)).endpoint)
    const doctor = async () => {
      const { findings } = JSON.parse((await berth(['doctor', '--json'], env)).out) as {
        findings: { about: string; is: string; found: string }[]
      }
      const finding = findings.find(({ about }) => about === 'keyring copy')!
      return [finding.is, finding.found] as const
    }
    assert.equal((await doctor())[0], 'worry')
    assert.equal(await figure(world), 0)

    const here = join(world.folder, 'copies', 'keyring.json')
    const refused = await berth(['keys', 'export', '--to', here], env)
    assert.deepEqual([refused.code, /is on the disk of the keyring or of the store/.test(refused.err)], [1, true])
    assert.equal((await berth(['keys', 'export', '--to', here, '--same-disk'], env)).code, 0)
    assert.equal(statSync(here).mode & 0o777, 0o600)
    assert.match((await berth(['keys', 'verify', here], env)).err, /verify the copy at the other place/)
    const local = await berth(['keys', 'verify', here, '--same-disk'], env)
    assert.deepEqual([local.code, /does not count as verified/.test(local.out)], [0, true])
    assert.equal(await figure(world), 0, 'a copy on the same disk does not count')

    const made = await berth(['keys', 'export', '--to', COPY], env)
    assert.deepEqual([made.code, made.err], [0, ''])
    assert.equal(await figure(world), 0, 'a copy that was never opened does not count')
    const wrong = await berth(['keys', 'verify', COPY], { ...env, BERTH_KEYS_PASSPHRASE: 'another passphrase' })
    assert.deepEqual([wrong.code, /the passphrase is another one/.test(wrong.err)], [1, true])
    assert.equal(await figure(world), 0)
    const file = join(world.folder, 'passphrase.txt')
    writeFileSync(file, `${PASSPHRASE}\nand another line\n`)
    const byFile = { ...env, BERTH_KEYS_PASSPHRASE: 'another passphrase' }
    const verified = await berth(['keys', 'verify', COPY, '--passphrase-file', file], byFile)
    assert.deepEqual([verified.code, verified.err], [0, ''])
    assert.equal(await figure(world), 1)
    const well = await doctor()
    assert.deepEqual([well[0], /^s3:\/\/berth-backups\/keyring\.json, verified at 2/.test(well[1])], ['well', true])
    const { entries } = (await world.operator('GET', '/operator/v1/audit?limit=5')).body
    assert.equal(entries[0].type, 'operatorNoteKeyringCopy')
    assert.equal(JSON.stringify(entries).includes('proof":'), false)

    await world.operator('POST', '/operator/v1/keys/rotate')
    assert.equal(await figure(world), 0, 'the new root key is in no copy')
    assert.equal((await doctor())[0], 'worry')
    const stale = await berth(['keys', 'verify', COPY], env)
    assert.deepEqual([stale.code, /No verified copy holds rk_/.test(stale.out)], [1, true])
    await berth(['keys', 'export', '--to', COPY], env)
    assert.equal((await berth(['keys', 'verify', COPY], env)).code, 0)
    assert.equal(await figure(world), 1)

    const [id] = (await world.operator('GET', '/operator/v1/keys')).body.keys.map((key: { id: string }) => key.id)
    const forged = { place: 'x', keys: [{ id, proof: 'A'.repeat(43) }] }
    const answer = await world.operator.try('POST', '/operator/v1/keys/copies', forged)
    assert.deepEqual([answer.status, answer.body.error.code], [409, 'conflict'])
    const strange = { place: 'x', keys: [{ id: 'rk_strange', proof: 'x' }] }
    assert.deepEqual((await world.operator('POST', '/operator/v1/keys/copies', strange)).body.verified, [])
    assert.equal((await berth(['keys', 'export', '--to', COPY], { ...env, BERTH_KEYS_PASSPHRASE: 'short' })).code, 78)
    writeFileSync(file, 'short\n')
    assert.equal((await berth(['keys', 'export', '--to', COPY, '--passphrase-file', file], env)).code, 64)
    const inTheWay = await berth(['keys', 'export', '--to', join(world.folder, 'credentials.json'), '--same-disk'], env)
    assert.match(inTheWay.err, /is not a copy of a keyring: name another file/)
  },
)

onBothEngines(
  'a keyring that is lost comes back from its copy, and every value of a backup opens',
  async (world, t) => {
    const env = await environment(world, (await strictServer(t)).endpoint)
    const variable = { key: 'SECRET', value: 'opened', target: 'preview', type: 'encrypted' }
    await world.call('POST', '/v10/projects', { name: 'web', environmentVariables: [variable] })
    assert.equal((await berth(['keys', 'export', '--to', COPY], env)).code, 0)
    const backup = join(world.folder, 'copy.db')
    assert.equal((await berth(['backup', backup], env)).code, 0)
    const ring = join(world.folder, 'keys.json')
    const before = readFileSync(ring, 'utf8')
    renameSync(ring, join(world.folder, 'lost.json'))
    assert.equal((await berth(['backup', 'verify', backup], env)).code, 65)
    const taken = await berth(['keys', 'import', COPY], { ...env, BERTH_KEYS: join(world.folder, 'lost.json') })
    assert.deepEqual([taken.code, /there is a keyring at .* already/.test(taken.err)], [1, true])
    const unmounted = join(world.folder, 'unmounted')
    const nowhere = await berth(['keys', 'import', COPY], { ...env, BERTH_KEYS: join(unmounted, 'keys.json') })
    assert.deepEqual(
      [nowhere.code, nowhere.err.includes(`the folder ${unmounted} of the keyring is not there`)],
      [78, true],
    )
    assert.equal(existsSync(unmounted), false)
    const fresh = join(world.folder, 'fresh')
    assert.equal((await berth(['keys', 'import', COPY], { ...env, BERTH_DATA: fresh })).code, 0)
    assert.equal(readFileSync(join(fresh, 'keys.json'), 'utf8'), before)
    const brought = await berth(['keys', 'import', COPY], env)
    assert.deepEqual([brought.code, brought.err], [0, ''])
    assert.deepEqual([readFileSync(ring, 'utf8'), statSync(ring).mode & 0o777], [before, 0o600])
    assert.equal((await berth(['backup', 'verify', backup], env)).code, 0)
    const target = { ...env, DATABASE_URL: `sqlite:${join(world.folder, 'other.db')}` }
    assert.equal((await berth(['restore', backup], target)).code, 0)
    const restored = await openWorld('sqlite', { BERTH_KEYS: ring, DATABASE_URL: target.DATABASE_URL })
    try {
      const { body } = await restored.as(world.credentials.token)('GET', '/v9/projects/web/env?decrypt=true')
      assert.equal(body.envs[0].value, 'opened')
    } finally {
      await restored.close()
    }
  },
)
