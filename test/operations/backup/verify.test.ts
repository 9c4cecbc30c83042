/** Whether `berth backup verify` finds what is wrong with a backup, and who is notified. docs/backup.md: Verify. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { readConfig } from '../../../src/config.ts'
import { createBackup } from '../../../src/operations/backup/backup.ts'
import { parseManifest } from '../../../src/operations/backup/manifest.ts'
import { BadBackup, verifyBackup } from '../../../src/operations/backup/verify.ts'
import { berth } from '../../support/clients/command.ts'
import { BUCKET, bucketSettings, strictServer } from '../../support/servers/bucket-server.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const silent = () => {}

/** A store with two projects and a sealed variable, all of its audit log in the chain, and a backup of it. */
async function backedUp(world: World, name = 'copy.db'): Promise<string> {
  const environmentVariables = [{ key: 'SECRET', value: 'x', target: 'preview', type: 'encrypted' }]
  for (const project of ['one', 'two'])
    await world.call('POST', '/v10/projects', { name: `${project}-${name.slice(0, 4)}`, environmentVariables })
  await world.operator('POST', '/operator/v1/timers/audit-chain/run', {})
  const to = join(world.folder, name)
  return (await createBackup(world.deps.config, { to, version: '1', withKeys: false }, silent)).file
}

/** Rewrites the manifest, as an attacker who changed the backup could. */
function forgeManifest(file: string, change: object = {}): void {
  const manifest = JSON.parse(readFileSync(`${file}.json`, 'utf8'))
  const bytes = readFileSync(file)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  writeFileSync(`${file}.json`, JSON.stringify({ ...manifest, bytes: bytes.length, sha256, ...change }))
}

function inFile(file: string, statement: string): void {
  const database = new DatabaseSync(file)
  database.exec(statement)
  database.close()
  forgeManifest(file)
}

onBothEngines('an intact backup is reported as such, with what was checked', async (world) => {
  const { manifest, entries, keys } = await verifyBackup(world.deps.config, await backedUp(world), silent)
  assert.equal(manifest.engine, world.engine)
  assert.ok(entries >= 2)
  assert.deepEqual([keys.opened, keys.missing, keys.shut], [1, [], []])
})

onBothEngines('each kind of damage of a backup is found and reported', async (world) => {
  const { config } = world.deps
  const file = await backedUp(world)
  const [whole, manifest] = [readFileSync(file), readFileSync(`${file}.json`, 'utf8')]
  const refused = async (wanted: RegExp, settings = config) => {
    const error = await verifyBackup(settings, file, silent).then(
      () => assert.fail(`not found: ${wanted}`),
      (thrown: Error) => thrown,
    )
    assert.ok(error instanceof BadBackup, String(error))
    assert.match(error.message, wanted)
    writeFileSync(file, whole)
    writeFileSync(`${file}.json`, manifest)
  }
  const flipped = Buffer.from(whole)
  flipped[whole.length >> 1]! ^= 1
  writeFileSync(file, flipped)
  await refused(/is not as it was written/)

  truncateSync(file, whole.length - 4096)
  await refused(/is not as it was written/)

  const database = new DatabaseSync(file, { readOnly: true })
  const { rootpage } = database.prepare("select rootpage from sqlite_schema where name = 'project_name'").get()!
  const { page_size } = database.prepare('pragma page_size').get()!
  database.close()
  const damaged = Buffer.from(whole)
  damaged[Number(rootpage) * Number(page_size) - 4]! ^= 1
  writeFileSync(file, damaged)
  forgeManifest(file)
  await refused(/is damaged: /)

  inFile(file, 'delete from fact')
  await refused(/has 0 rows in fact, and its manifest says \d+/)

  inFile(file, "update audit set actor_id = 'somebody else' where position = 1")
  await refused(/the audit log in .* is broken at its entry 1: it is changed/)

  inFile(file, "insert into kysely_migration (name, timestamp) values ('9999-later', '2099')")
  forgeManifest(file, {
    rows: { ...JSON.parse(manifest).rows, kysely_migration: JSON.parse(manifest).rows.kysely_migration + 1 },
  })
  await refused(/from a newer version of Berth .*9999-later/)

  const [id] = JSON.parse(manifest).keyIds
  const ring = (keyId: string) => JSON.stringify({ keys: [{ id: keyId, key: Buffer.alloc(32, 7).toString('base64') }] })
  await refused(/cannot be opened: the keyring does not have the key/, { ...config, keys: { text: ring('rk_other') } })
  await refused(/cannot be opened: the keyring has another key under the id/, { ...config, keys: { text: ring(id) } })

  rmSync(`${file}.json`)
  await refused(/\.json is missing/)
  assert.equal((await verifyBackup(config, file, silent)).manifest.bytes, whole.length, 'what is put back is whole')

  // What the system cannot read says nothing of the backup.
  rmSync(`${file}.json`)
  mkdirSync(`${file}.json`)
  await assert.rejects(
    verifyBackup(config, file, silent),
    (error: Error) => !(error instanceof BadBackup) && /EISDIR/.test(error.message),
  )
})

test('an incomplete manifest is not a manifest', () => {
  const whole = { format: 1, bytes: 1, sha256: 'x', rows: {}, migrations: [] }
  assert.deepEqual(parseManifest('a.json', JSON.stringify(whole)), whole)
  for (const lacking of Object.keys(whole))
    assert.throws(
      () => parseManifest('a.json', JSON.stringify({ ...whole, [lacking]: undefined })),
      /^Error: a\.json is not the manifest of a backup$/,
      lacking,
    )
  assert.throws(() => parseManifest('a.json', 'null'), /is not the manifest/)
  assert.throws(() => parseManifest('a.json', '{'), /is not JSON/)
  assert.throws(() => parseManifest('a.json', JSON.stringify({ ...whole, format: 2 })), /has the format 2/)
})

onBothEngines(
  'the findings of the command are in its exit code, the metrics, doctor and the page of backups',
  async (world) => {
    const file = await backedUp(world)
    const env = {
      BERTH_DATA: world.folder,
      DATABASE_URL: world.engine === 'sqlite' ? '' : databaseOf(world),
      BERTH_PUBLIC_URL: await world.listen(),
      BERTH_DNS_SERVERS: '127.0.0.1:1',
    }
    const figure = async (name: string) => {
      const { text } = await world.operator('GET', '/metrics')
      return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
    }
    const doctor = async () => {
      const { findings } = JSON.parse((await berth(['doctor', '--json'], env)).out) as {
        findings: { about: string; is: string; found: string }[]
      }
      return findings.filter(({ about }) => about === 'backups').map(({ is, found }) => `${is}: ${found}`)
    }
    assert.equal(await figure('berth_backup_last_good_timestamp_seconds'), 0)
    assert.ok((await figure('berth_store_bytes')) > 10_000)
    assert.ok((await figure('berth_disk_free_bytes')) > 0)
    assert.deepEqual(await doctor(), ['worry: no backup exists'])

    const made = await berth(['backup', join(world.folder, 'made.db')], env)
    assert.deepEqual([made.code, made.err], [0, ''])
    assert.ok((await figure('berth_backup_last_good_timestamp_seconds')) > 1e9)
    assert.equal(await figure('berth_backup_last_verified_timestamp_seconds'), 0)
    assert.deepEqual(await doctor(), ['worry: none was checked'])

    const well = await berth(['backup', 'verify', file], env)
    assert.deepEqual([well.code, well.err], [0, ''])
    assert.match(
      well.out,
      /copy\.db is whole: \d+ rows, an audit log of \d+ lines, and its keys are here \(1 value opened\)/,
    )
    assert.ok((await figure('berth_backup_last_verified_timestamp_seconds')) > 1e9)
    assert.match((await doctor()).join(), /^well: the last good one was begun at 2/)

    truncateSync(file, 4096)
    const bad = await berth(['backup', 'verify', file, '--json'], env)
    assert.deepEqual([bad.code, JSON.parse(bad.out).verified], [65, false])
    assert.equal(await figure('berth_backups_damaged'), 1)
    assert.equal(await figure('berth_backup_last_verified_timestamp_seconds'), 0)
    assert.match((await doctor()).join(), /worry: 1 backup is damaged/)
    const { known } = (await world.operator('GET', '/operator/v1/backups/known')).body
    const byName = new Map(known.map((one: { name: string; fault: string | null }) => [one.name, one.fault]))
    assert.match(String(byName.get('copy.db')), /is not as it was written/)
    assert.equal(byName.get('made.db'), null)

    assert.equal((await berth(['backup', 'verify', join(world.folder, 'none.db')], env)).code, 1)
    assert.equal((await berth(['backup', 'verify', '--newest'], env)).code, 1)
    assert.equal((await berth(['backup', 'verify'], env)).code, 64)
    assert.equal(await figure('berth_backups_damaged'), 1, 'what could not be looked at is not damaged')
    writeFileSync(join(world.folder, 'notes.db'), 'no backup at all')
    assert.equal((await berth(['backup', 'verify', join(world.folder, 'notes.db')], env)).code, 65)
    assert.equal(await figure('berth_backups_damaged'), 1, 'nor is what never was a backup')
    renameSync(join(world.folder, 'made.db.json'), join(world.folder, 'lost.json'))
    assert.equal((await berth(['backup', 'verify', join(world.folder, 'made.db')], env)).code, 65)
    assert.match((await doctor()).join(), /worry: 2 backups are damaged/)
    renameSync(join(world.folder, 'lost.json'), join(world.folder, 'made.db.json'))
    // What was deleted by hand is damaged no more.
    rmSync(file)
    const gone = await berth(['backup', 'verify', file], env)
    assert.deepEqual([gone.code, /copy\.db is not there/.test(gone.err)], [1, true], gone.err)
    assert.equal(await figure('berth_backups_damaged'), 1)
    const unheard = await berth(['backup', 'verify', join(world.folder, 'made.db')], {
      ...env,
      BERTH_PUBLIC_URL: 'http://127.0.0.1:1',
    })
    assert.deepEqual([unheard.code, /did not note it/.test(unheard.err)], [0, true])
  },
)

function databaseOf({ deps }: World): string {
  const { database } = deps.config
  return database.engine === 'postgres' ? database.url : assert.fail('no PostgreSQL')
}

onBothEngines('a backup from the console is checked after its creation, and is the newest', async (world) => {
  await world.call('POST', '/v10/projects', { name: 'web' })
  assert.equal((await world.operator('POST', '/operator/v1/backups')).status, 202)
  await world.deps.backups.end()
  const { backups } = (await world.operator('GET', '/operator/v1/backups')).body
  const { known } = (await world.operator('GET', '/operator/v1/backups/known')).body
  assert.deepEqual([known.length, known[0].madeBy, known[0].fault], [1, 'operator', null])
  assert.ok(known[0].verifiedAt > 1e12)
  assert.equal(known[0].name, backups[0].name)
  const env = { BERTH_DATA: world.folder, BERTH_PUBLIC_URL: 'http://127.0.0.1:1' }
  const newest = await berth(['backup', 'verify', '--newest', '--json'], env)
  assert.equal(newest.code, 0, newest.err)
  assert.equal(JSON.parse(newest.out).manifest.begunAt, backups[0] && new Date(backups[0].begunAt).toISOString())
})

onBothEngines('the newest backup is the one whose name has the latest time, whatever else is there', async (world) => {
  const env = {
    BERTH_DATA: world.folder,
    DATABASE_URL: world.engine === 'sqlite' ? '' : databaseOf(world),
    BERTH_PUBLIC_URL: 'http://127.0.0.1:1',
  }
  const folder = join(world.folder, 'backups')
  const newest = async () => JSON.parse((await berth(['backup', 'verify', '--newest', '--json'], env)).out).file
  assert.equal((await berth(['backup', join(folder, 'pre-upgrade.db')], env)).code, 0)
  assert.equal(await newest(), join(folder, 'pre-upgrade.db'))
  const made = await berth(['backup', `${folder}/`, '--json'], env)
  assert.equal(await newest(), JSON.parse(made.out).file)
})

onBothEngines('a backup of the console that was moved elsewhere before its check is not damaged', async (world) => {
  const { db, backups } = world.deps
  const [folder, elsewhere] = [join(world.folder, 'backups'), join(world.folder, 'elsewhere')]
  mkdirSync(folder)
  mkdirSync(elsewhere)
  const left = join(folder, '.berth-2020-01-01.db.x.part')
  writeFileSync(left, 'half')
  utimesSync(left, 1, 1)
  const { write } = db
  db.write = async (work, owner) => {
    const value = await write(work, owner)
    for (const name of readdirSync(folder).filter((one) => /^berth-.*\.db$/.test(one)))
      renameSync(join(folder, name), join(elsewhere, name))
    return value
  }
  assert.equal((await world.operator('POST', '/operator/v1/backups')).status, 202)
  await backups.end()
  db.write = write
  const { failed } = (await world.operator('GET', '/operator/v1/backups')).body
  assert.match(failed.message, /is not there/)
  const { known } = (await world.operator('GET', '/operator/v1/backups/known')).body
  assert.deepEqual([known.length, known[0].fault, known[0].verifiedAt], [1, null, null])
  assert.equal(existsSync(left), false, 'what a kill left goes')
})

onBothEngines(
  'a backup in a bucket that is shorter, or has no manifest that can be read, is damaged',
  async (world, t) => {
    const server = await strictServer(t)
    const settings = bucketSettings(server.endpoint)
    const env = {
      ...settings,
      BERTH_DATA: world.folder,
      DATABASE_URL: world.engine === 'sqlite' ? '' : databaseOf(world),
      BERTH_PUBLIC_URL: await world.listen(),
    }
    const [key, file] = ['by-hand/made.db', `s3://${BUCKET}/by-hand/made.db`]
    assert.equal((await berth(['backup', file], env)).code, 0)
    const whole = server.objects.get(key)!
    for (const [name, object, wanted] of [
      [key, whole.subarray(0, 4096), /is not as it was written/],
      [`${key}.json`, Buffer.from('{'), /is not JSON/],
    ] as const) {
      const before = server.objects.get(name)!
      server.objects.set(name, object)
      const bad = await berth(['backup', 'verify', file], env)
      assert.deepEqual([bad.code, wanted.test(bad.out)], [65, true], bad.out + bad.err)
      const { known } = (await world.operator('GET', '/operator/v1/backups/known')).body
      assert.match(String(known[0].fault), wanted)
      server.objects.set(name, before)
    }
    assert.equal((await berth(['backup', 'verify', file], env)).code, 0)
  },
)

onBothEngines('berth backup puts a backup into a bucket, and there alone it counts as good', async (world, t) => {
  const server = await strictServer(t)
  const settings = bucketSettings(server.endpoint)
  const { backups, s3 } = readConfig(settings)
  Object.assign(world.deps.config, { backups, s3 })
  await backedUp(world)
  const env = {
    ...settings,
    BERTH_DATA: world.folder,
    DATABASE_URL: world.engine === 'sqlite' ? '' : databaseOf(world),
    BERTH_PUBLIC_URL: await world.listen(),
  }
  const lastGood = async () => {
    const { text } = await world.operator('GET', '/metrics')
    return Number(/^berth_backup_last_good_timestamp_seconds (\S+)$/m.exec(text)?.[1])
  }
  // A scheduled backup on its way is not disturbed.
  const onItsWay = join(world.folder, 'backup-on-its-way', 'half')
  mkdirSync(dirname(onItsWay))
  writeFileSync(onItsWay, 'half')

  const local = await berth(['backup', join(world.folder, 'made.db')], env)
  assert.deepEqual([local.code, local.err, await lastGood()], [0, '', 0])
  const file = `s3://${BUCKET}/by-hand/made.db`
  const made = await berth(['backup', file, '--json'], env)
  assert.deepEqual([made.code, made.err, JSON.parse(made.out).file], [0, '', file])
  assert.ok((await lastGood()) > 1e9)
  assert.deepEqual([...server.objects.keys()], ['by-hand/made.db', 'by-hand/made.db.json'])
  assert.equal((await berth(['backup', 'verify', file], env)).code, 0)

  const again = await berth(['backup', file], env)
  assert.deepEqual([again.code, /by-hand\/made\.db exists already: name another/.test(again.err)], [1, true], again.err)
  const named = JSON.parse((await berth(['backup', `s3://${BUCKET}/by-day`, '--json'], env)).out).file
  assert.match(named, /^s3:\/\/[\w-]+\/by-day\/berth-\d{4}-.*\.db$/)
  assert.equal(server.objects.size, 4)
  const withKeys = await berth(['backup', `s3://${BUCKET}/x/`, '--with-keys'], env)
  assert.deepEqual([withKeys.code, /use berth keys export/.test(withKeys.err)], [64, true])
  const { BERTH_S3_SECRET_ACCESS_KEY: _, ...noKey }: Record<string, string> = env
  const refused = await berth(['backup', `s3://${BUCKET}/x/`], noKey)
  assert.deepEqual([refused.code, server.objects.size], [78, 4], refused.err)
  const left = readdirSync(world.folder).filter((name) => /^backup-check|^s3:/.test(name))
  assert.deepEqual([left, readFileSync(onItsWay, 'utf8')], [[], 'half'])
})
