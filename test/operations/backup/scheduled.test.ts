/** Backups by BERTH_BACKUP_SCHEDULE: when, on which instance, where to, what is pruned, and the email after a failure. docs/backup.md: Scheduled backups. */
import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pino } from 'pino'
import { BadSetting, readConfig } from '../../../src/config.ts'
import { openBackupDestination } from '../../../src/operations/backup/destination.ts'
import { backupsToPrune } from '../../../src/operations/backup/retention.ts'
import { parseSchedule } from '../../../src/operations/backup/runs.ts'
import { runDueBackup } from '../../../src/operations/backup/scheduled.ts'
import { openService } from '../../../src/service.ts'
import { berth } from '../../support/clients/command.ts'
import { newHome } from '../../support/process.ts'
import { bucketSettings, independentServer, refuse, strictServer } from '../../support/servers/bucket-server.ts'
import { onBothEngines, openWorld, type World } from '../../support/world.ts'

const never = new AbortController().signal
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const at = (text: string) => Date.parse(`${text}Z`)
const DAILY = { BERTH_BACKUP_SCHEDULE: '0 3 * * *' }

async function figureOf(world: World, name: string): Promise<number> {
  const { text } = await world.operator('GET', '/metrics')
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
}

/** Has the service check whether a backup is due at a time. Returns the number it created. */
async function look(world: World, now: number): Promise<number> {
  const { status, text, body } = await world.operator('POST', '/operator/v1/timers/scheduled-backups/run', { now })
  assert.equal(status, 200, text)
  return body.swept
}

const backupsIn = (folder: string) =>
  existsSync(folder) ? readdirSync(folder).filter((name) => /\.db$/.test(name)) : []

test('the last time of a schedule is found in UTC, inclusively, and an invalid schedule is refused', async () => {
  const daily = await parseSchedule('30 3 * * *')
  assert.equal(daily(at('2026-11-22T03:30:00')), at('2026-11-22T03:30:00'))
  assert.equal(daily(at('2026-11-22T03:29:59.999')), at('2026-11-21T03:30:00'))
  assert.equal(daily(at('2026-11-22T03:30:00.001')), at('2026-11-22T03:30:00'))
  const weekly = await parseSchedule('0 4 * * 0')
  assert.equal(weekly(at('2026-11-25T00:00:00')), at('2026-11-22T04:00:00'))
  for (const text of ['61 3 * * *', '0 3 31 2 *', '0 3 * * 9'])
    await assert.rejects(parseSchedule(text), /^BadSetting|BERTH_BACKUP_SCHEDULE/)
})

test('settings that allow no backup end the start, and the error names the setting', async (t) => {
  const { env } = await newHome(t, 'sqlite')
  for (const [settings, wanted] of [
    [{ BERTH_BACKUP_SCHEDULE: '61 3 * * *' }, /^BERTH_BACKUP_SCHEDULE "61 3 \* \* \*" cannot be read/],
    [{ BERTH_BACKUP_SCHEDULE: 'daily' }, /^BERTH_BACKUP_SCHEDULE must be five fields/],
    [{ BERTH_BACKUP_TO: 's3://bucket/x' }, /^BERTH_S3_ACCESS_KEY_ID must be set where BERTH_BACKUP_TO is a bucket/],
    [{ BERTH_S3_ACCESS_KEY_ID: 'x' }, /^BERTH_S3_SECRET_ACCESS_KEY must be set/],
    [{ BERTH_BACKUP_TO: 's3://bucket/../x' }, /^BERTH_BACKUP_TO must be/],
    [{ BERTH_BACKUP_KEEP: 'daily=3,last=0' }, /^BERTH_BACKUP_KEEP must be like/],
  ] as const) {
    const started = async () =>
      openService(readConfig({ ...env, ...settings }), pino({ level: 'silent' }), assert.ifError)
    const error: unknown = await started().catch((thrown: unknown) => thrown)
    assert.ok(error instanceof BadSetting, String(error))
    assert.match(error.message, wanted)
  }
})

test('the newest backup of each day and week is retained, and the newest intact one always', () => {
  const now = at('2026-11-22T03:00:00')
  const daily = Array.from({ length: 60 }, (_, day) => {
    const begunAt = now - day * DAY_MS
    return { name: new Date(begunAt).toISOString().slice(0, 10), begunAt, whole: true }
  })
  const stay = (backups: typeof daily, keep: Parameters<typeof backupsToPrune>[1]) => {
    const gone = new Set(backupsToPrune(backups, keep))
    return backups.map(({ name }) => name).filter((name) => !gone.has(name))
  }
  assert.deepEqual(stay(daily, { last: 1, daily: 0, weekly: 0 }), ['2026-11-22'])
  assert.deepEqual(stay(daily, { last: 2, daily: 4, weekly: 3 }), [
    '2026-11-22',
    '2026-11-21',
    '2026-11-20',
    '2026-11-19',
    '2026-11-15',
    '2026-11-08',
  ])
  const twice = daily
    .slice(0, 2)
    .flatMap((one) => [one, { ...one, name: `${one.name} early`, begunAt: one.begunAt - 3_600_000 }])
  assert.deepEqual(stay(twice, { last: 1, daily: 2, weekly: 0 }), ['2026-11-22', '2026-11-21'])
  const bad = daily.map((one, day) => ({ ...one, whole: day >= 8 }))
  const newestBad = ['2026-11-22', '2026-11-21', '2026-11-20', '2026-11-19', '2026-11-18']
  assert.deepEqual(stay(bad, { last: 1, daily: 0, weekly: 0 }), [...newestBad, '2026-11-14'], 'and the only whole one')
  const older = daily.map((one, day) => ({ ...one, whole: day === 0 }))
  assert.deepEqual(stay(older, { last: 1, daily: 0, weekly: 0 }), ['2026-11-22'])
})

onBothEngines(
  'a due backup is created once, also when the clock jumps ahead and back; old ones are pruned, foreign files are not',
  async (world) => {
    const folder = join(world.folder, 'backups')
    await world.call('POST', '/v10/projects', { name: 'web' })
    assert.equal(await look(world, at('2026-12-01T12:00')), 1, 'what was missed is made up for')
    assert.equal(await look(world, at('2026-12-01T12:00')), 0)
    assert.equal(await look(world, at('2026-12-02T02:59:59')), 0)
    assert.equal(await look(world, at('2030-01-01T03:00')), 1)
    assert.equal(await look(world, at('2026-12-02T03:00')), 1, 'a clock that was ahead hinders nothing')
    assert.equal(await look(world, at('2026-12-01T12:00')), 0, 'a clock that is set back repeats nothing')
    assert.equal(backupsIn(folder).length, 2, 'last=2')

    mkdirSync(join(folder, 'berth-2020.db'))
    for (const name of ['berth-2020-01-01T00-00-00.000Z.db', '.berth-2020.db.x.part', '.berth-2021.db.x.part'])
      writeFileSync(join(folder, name), 'x')
    utimesSync(join(folder, '.berth-2020.db.x.part'), 1, 1)
    assert.equal(await look(world, at('2026-12-03T03:00')), 1)
    const names = readdirSync(folder)
    assert.equal(names.includes('.berth-2020.db.x.part'), false, 'what a kill left goes')
    for (const name of ['berth-2020-01-01T00-00-00.000Z.db', 'berth-2020.db', '.berth-2021.db.x.part'])
      assert.ok(names.includes(name), `${name} is not of the schedule`)
    assert.equal(names.filter((name) => /^berth-20[2-9]\d-\d\d-\d\dT.*\.db\.json$/.test(name)).length, 2)

    // A backup that was deleted by hand no longer counts: the older one stays, in addition to the next.
    const made = names.filter((name) => /^berth-20[2-9]\d-\d\d-\d\dT.*\.db\.json$/.test(name)).sort()
    for (const name of [made[1]!, made[1]!.replace(/\.json$/, '')]) rmSync(join(folder, name))
    assert.equal(await look(world, at('2026-12-04T03:00')), 1)
    assert.ok(existsSync(join(folder, made[0]!)))

    const { known, scheduled } = (await world.operator('GET', '/operator/v1/backups/known')).body
    assert.deepEqual([known.length, scheduled.schedule, scheduled.to, scheduled.fault], [2, '0 3 * * *', folder, null])
    for (const one of known) assert.deepEqual([one.madeBy, one.fault, one.verifiedAt > 1e12], ['schedule', null, true])
    assert.equal(await figureOf(world, 'berth_backup_failed'), 0)
    assert.ok((await figureOf(world, 'berth_backup_last_verified_timestamp_seconds')) > 1e9)
  },
  { ...DAILY, BERTH_BACKUP_KEEP: 'last=2' },
)

onBothEngines(
  'of several instances that check at once one creates the backup',
  async (world) => {
    const others: World[] = []
    try {
      if (world.engine === 'postgres') {
        const { database } = world.deps.config
        const settings = {
          DATABASE_URL: database.engine === 'postgres' ? database.url : assert.fail(),
          BERTH_KEYS: join(world.folder, 'keys.json'),
          BERTH_BACKUP_TO: join(world.folder, 'backups'),
          ...DAILY,
        }
        for (let count = 0; count < 2; count++) others.push(await openWorld('postgres', settings))
      }
      const all = [world, ...others]
      const now = at('2026-12-01T03:00')
      const made = await Promise.all([...all, ...all].map(({ deps }) => runDueBackup(deps, now)))
      assert.equal(
        made.reduce((sum, count) => sum + count),
        1,
      )
      assert.equal(backupsIn(join(world.folder, 'backups')).length, 1)
    } finally {
      for (const other of others) await other.close()
    }
  },
  DAILY,
)

onBothEngines(
  'a failing backup is tried three times, and is in metrics, doctor, log and page until one succeeds',
  async (world) => {
    const folder = join(world.folder, 'backups')
    writeFileSync(folder, 'a file in the way')
    const first = at('2026-12-01T03:00')
    assert.equal(await look(world, first), 0)
    assert.equal(await look(world, first + 9 * MINUTE_MS), 0)
    const tries = () => world.logged().split('could not be made, or is not intact').length - 1
    assert.equal(tries(), 1, 'not before ten minutes')
    for (const minutes of [11, 22, 33, 44]) await look(world, first + minutes * MINUTE_MS)
    assert.equal(tries(), 3)
    assert.equal(await figureOf(world, 'berth_backup_failed'), 1)
    const { scheduled } = (await world.operator('GET', '/operator/v1/backups/known')).body
    assert.match(String(scheduled.fault), /backups is a file or lies below one/)
    const { findings } = (await world.operator('GET', '/operator/v1/health')).body
    const told = findings
      .filter((one: { about: string }) => one.about === 'backups')
      .map((one: { found: string }) => one.found)
    assert.match(told.join(), /the last scheduled one failed/)
  },
  DAILY,
)

onBothEngines('the newest backup of a bucket is restored, and its values open', async (world, t) => {
  const { endpoint } = await independentServer(t)
  const settings = { ...bucketSettings(endpoint), ...DAILY }
  Object.assign(world.deps.config, {
    backups: readConfig(settings).backups,
    s3: readConfig(settings).s3,
  })
  const variable = { key: 'SECRET', value: 'opened', target: 'preview', type: 'encrypted' }
  await world.call('POST', '/v10/projects', { name: 'web', environmentVariables: [variable] })
  assert.equal(await look(world, at('2026-12-01T03:00')), 1)
  await world.call('POST', '/v10/projects', { name: 'later' })
  assert.equal(await look(world, at('2026-12-02T03:00')), 1)
  const place = await openBackupDestination(world.deps.config)
  const names = (await place.list(never)).sort()
  assert.equal(names.length, 2)
  assert.deepEqual(
    readdirSync(world.folder).filter((name) => /backup/.test(name)),
    [],
    'nothing is left on this disk',
  )

  const keys = join(world.folder, 'keys.json')
  const home = await newHome(t, world.engine)
  const env = { ...settings, ...home.env, BERTH_KEYS: keys }
  const checked = await berth(['backup', 'verify', '--newest', '--json'], {
    ...env,
    BERTH_PUBLIC_URL: 'http://127.0.0.1:1',
  })
  assert.deepEqual([checked.code, JSON.parse(checked.out).file], [0, `${place.name}/${names[1]}`], checked.err)
  const restored = await berth(['restore', `${place.name}/${names[1]}`], env)
  assert.equal(restored.code, 0, restored.err)
  const target = readConfig(env)
  const second = await openWorld(world.engine, {
    DATABASE_URL: target.database.engine === 'postgres' ? target.database.url : `sqlite:${target.database.file}`,
    BERTH_KEYS: keys,
  })
  t.after(() => second.close())
  const call = second.as(world.credentials.token)
  assert.equal((await call('GET', '/v9/projects/later')).status, 200)
  assert.equal((await call('GET', '/v9/projects/web/env?decrypt=true')).body.envs[0].value, 'opened')

  // One bit in the bucket.
  const bucket = await strictServer(t)
  const damagedAt = {
    ...env,
    ...bucketSettings(bucket.endpoint),
    BERTH_DATA: world.folder,
    BERTH_PUBLIC_URL: await world.listen(),
  }
  await place.read(
    names[1]!,
    async (file) => {
      const there = await openBackupDestination(readConfig(damagedAt))
      const copied = await there.store(async (folder) => {
        for (const end of ['', '.json']) copyFileSync(`${file}${end}`, join(folder, `${names[1]}${end}`))
        return { file: join(folder, names[1]!) }
      }, never)
      assert.ok(copied)
    },
    never,
  )
  const object = bucket.objects.get(`nightly/${names[1]}`)!
  object[object.length >> 1]! ^= 1
  const bad = await berth(['backup', 'verify', '--newest'], damagedAt)
  assert.deepEqual([bad.code, /is not as it was written/.test(bad.out)], [65, true], bad.out + bad.err)
  assert.equal(await figureOf(world, 'berth_backups_damaged'), 1)
})

onBothEngines(
  'an error of a bucket is reported, and a backup that is damaged on arrival is not called intact',
  async (world, t) => {
    const server = await strictServer(t)
    const wrong = readConfig({ ...bucketSettings(server.endpoint), BERTH_S3_SECRET_ACCESS_KEY: 'wrong', ...DAILY })
    Object.assign(world.deps.config, { backups: wrong.backups, s3: wrong.s3 })
    assert.equal(await look(world, at('2026-12-01T03:00')), 0)
    const faultOf = async () => String((await world.operator('GET', '/operator/v1/backups/known')).body.scheduled.fault)
    assert.match(await faultOf(), /BERTH_S3_SECRET_ACCESS_KEY is not the secret/)
    assert.equal(server.objects.size, 0)

    const right = readConfig({ ...bucketSettings(server.endpoint), ...DAILY })
    Object.assign(world.deps.config, { backups: right.backups, s3: right.s3 })
    server.fault = ({ method, key }) => {
      const object = server.objects.get(key)
      if (method === 'GET' && key.endsWith('.db') && object) object[object.length >> 1]! ^= 1
      return false
    }
    assert.equal(await look(world, at('2026-12-02T03:00')), 0)
    assert.match(await faultOf(), /is not as it was written/)
    assert.equal(await figureOf(world, 'berth_backups_damaged'), 1)
    assert.equal(await figureOf(world, 'berth_backup_last_good_timestamp_seconds'), 0)
    server.fault = () => false
    assert.equal(await look(world, at('2026-12-02T03:15')), 1, 'the second try')
    assert.equal(await figureOf(world, 'berth_backup_failed'), 0)
    server.fault = ({ method }, response) => {
      if (method !== 'DELETE') return false
      refuse(response, [403, 'AccessDenied', 'no'])
      return true
    }
    assert.equal(server.uploads.size, 0)
  },
)

function sendToBucket(world: World, endpoint: string, more: Record<string, string> = {}): void {
  const { backups, s3 } = readConfig({ ...bucketSettings(endpoint), ...DAILY, ...more })
  Object.assign(world.deps.config, { backups, s3 })
}

onBothEngines(
  'a stop that interrupts an upload is not a failed backup: the next start makes it at once',
  async (world, t) => {
    const server = await strictServer(t)
    sendToBucket(world, server.endpoint)
    const first = at('2026-12-01T03:00')
    // More often than a failed one is tried.
    for (let minute = 0; minute < 4; minute++) {
      const stop = new AbortController()
      server.fault = ({ method }) => {
        if (method === 'PUT') stop.abort()
        return method === 'PUT'
      }
      assert.equal(await runDueBackup(world.deps, first + minute * MINUTE_MS, stop.signal), 0)
      assert.ok(stop.signal.aborted)
    }
    assert.equal(await figureOf(world, 'berth_backup_failed'), 0)
    assert.equal(server.objects.size, 0)
    server.fault = () => false
    assert.equal(await runDueBackup(world.deps, first + 5 * MINUTE_MS), 1)
    assert.equal(server.objects.size, 2)
  },
)

onBothEngines('a backup is not made again because old ones cannot be removed, which is reported', async (world, t) => {
  const server = await strictServer(t)
  sendToBucket(world, server.endpoint, { BERTH_BACKUP_KEEP: 'last=1' })
  server.fault = ({ method }, response) => {
    if (method !== 'DELETE') return false
    refuse(response, [403, 'AccessDenied', 'no'])
    return true
  }
  assert.equal(await look(world, at('2026-12-01T03:00')), 1)
  assert.equal(await figureOf(world, 'berth_backup_failed'), 0)
  assert.equal(await look(world, at('2026-12-02T03:00')), 1)
  assert.equal(await look(world, at('2026-12-02T03:11')), 0)
  assert.equal(server.objects.size, 4)
  assert.equal(await figureOf(world, 'berth_backup_failed'), 1)
  const { scheduled } = (await world.operator('GET', '/operator/v1/backups/known')).body
  assert.match(String(scheduled.fault), /^old ones cannot be removed: .*AccessDenied/)
  assert.ok((await figureOf(world, 'berth_backup_last_verified_timestamp_seconds')) > 1e9)
})
