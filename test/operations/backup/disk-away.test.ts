/** The disk of scheduled backups goes and comes back. docs/backup.md: Unmounted disk. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readConfig } from '../../../src/config.ts'
import { berth } from '../../support/clients/command.ts'
import { newHome } from '../../support/process.ts'
import { bucketSettings, strictServer } from '../../support/servers/bucket-server.ts'
import { tamper } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const at = (text: string) => Date.parse(`${text}Z`)
const DAILY = { BERTH_BACKUP_SCHEDULE: '0 3 * * *', BERTH_BACKUP_KEEP: 'last=2' }

/** Has the service look whether a backup is due at three on this day. Gives how many it made. */
async function look(world: World, day: string): Promise<number> {
  const run = await world.operator('POST', '/operator/v1/timers/scheduled-backups/run', { now: at(`${day}T03:00`) })
  return run.body.swept
}

function sendTo(world: World, folder: string): void {
  Object.assign(world.deps.config, { backups: readConfig({ ...DAILY, BERTH_BACKUP_TO: folder }).backups })
}

const backupsIn = (folder: string) => readdirSync(folder).filter((name) => /\.db$/.test(name))

async function knownOf(world: World): Promise<string[]> {
  const { known } = (await world.operator('GET', '/operator/v1/backups/known')).body
  return known.map(({ name }: { name: string }) => name).sort()
}

async function toldBy(world: World): Promise<string> {
  const { findings } = (await world.operator('GET', '/operator/v1/health')).body
  const about = findings.filter((one: { about: string }) => one.about === 'backups')
  return about.map((one: { found: string }) => one.found).join()
}

/** A folder for a disk. `unmount` leaves what a mount point is without its disk: a folder, and nothing in it. */
function openDisk(t: TestContext, isReal: boolean) {
  const parent = mkdtempSync(join(tmpdir(), 'berth-disk-'))
  const [point, away] = [join(parent, 'mnt'), join(parent, 'away')]
  mkdirSync(point)
  const run = (...words: string[]) => assert.equal(spawnSync(words[0]!, words.slice(1)).status, 0, words.join(' '))
  if (isReal) {
    mkdirSync(away)
    run('mount', '-t', 'tmpfs', 'berth', away)
    run('mount', '--bind', away, point)
  }
  t.after(() => {
    if (isReal) for (const one of [point, away]) spawnSync('umount', [one])
    rmSync(parent, { recursive: true, force: true })
  })
  return {
    folder: join(point, 'berth'),
    point,
    unmount() {
      if (isReal) return run('umount', point)
      renameSync(point, away)
      mkdirSync(point)
    },
    mount() {
      if (isReal) return run('mount', '--bind', away, point)
      rmSync(point, { recursive: true })
      renameSync(away, point)
    },
  }
}

/** Whether this process may mount: root with the right to. */
function canMount(): boolean {
  const probe = mkdtempSync(join(tmpdir(), 'berth-may-mount-'))
  const { status } = spawnSync('mount', ['-t', 'tmpfs', 'berth', probe], { stdio: 'ignore' })
  if (status === 0) spawnSync('umount', [probe])
  rmSync(probe, { recursive: true })
  return status === 0
}

for (const isReal of canMount() ? [false, true] : [false]) {
  onBothEngines(
    `without its disk a backup fails, writes nothing and is reported, and works again with the disk${isReal ? ': a real mount' : ''}`,
    async (world, t) => {
      const disk = openDisk(t, isReal)
      sendTo(world, disk.folder)
      for (const day of ['2026-12-01', '2026-12-02', '2026-12-03']) assert.equal(await look(world, day), 1)
      const before = await knownOf(world)
      assert.deepEqual([backupsIn(disk.folder).sort(), before.length], [before, 2])
      disk.unmount()
      assert.equal(await look(world, '2026-12-04'), 0)
      assert.deepEqual(readdirSync(disk.point), [], 'nothing is written below the mount point')
      assert.deepEqual(await knownOf(world), before, 'nothing is forgotten')
      assert.match(
        await toldBy(world),
        /the last scheduled one failed: .*mnt\/berth holds none of the backups .* mount its disk/,
      )
      mkdirSync(disk.folder)
      assert.equal(await look(world, '2026-12-05'), 0, 'an empty directory of the same name is not the disk either')
      assert.deepEqual(readdirSync(disk.folder), [])
      rmSync(disk.folder, { recursive: true })
      disk.mount()
      assert.equal(await look(world, '2026-12-06'), 1)
      const after = await knownOf(world)
      assert.deepEqual(backupsIn(disk.folder).sort(), after)
      assert.deepEqual([after.length, after.includes(before[0]!)], [2, false], 'the oldest went from the disk')
    },
    DAILY,
  )
}

onBothEngines(
  'the first backup creates only the last directory of its destination, and so does the command',
  async (world) => {
    const point = join(world.folder, 'mnt')
    const folder = join(point, 'berth')
    sendTo(world, folder)
    assert.equal(await look(world, '2026-12-01'), 0)
    assert.ok(!existsSync(point))
    assert.match(await toldBy(world), /mnt is not there, so .*mnt\/berth is not made: mount its disk/)
    mkdirSync(point)
    assert.equal(await look(world, '2026-12-02'), 1)
    assert.equal(backupsIn(folder).length, 1)
  },
  DAILY,
)

test('berth backup creates the last directory of a path, and none below a missing directory', async (t) => {
  const home = await newHome(t, 'sqlite')
  mkdirSync(home.folder)
  const missing = join(home.folder, 'mnt', 'berth')
  const { code, err } = await berth(['backup', `${missing}/`], home.env)
  assert.deepEqual([code, existsSync(join(home.folder, 'mnt'))], [1, false])
  assert.match(err, /mnt is not there, so .*mnt\/berth is not made/)
})

onBothEngines(
  'a restored store that lists older backups than the destination has continues with those that exist',
  async (world) => {
    const folder = join(world.folder, 'there')
    sendTo(world, folder)
    for (const day of ['2026-12-01', '2026-12-02', '2026-12-03']) assert.equal(await look(world, day), 1)
    const [first, last] = await knownOf(world)
    // As the backup knew it that was restored: the one before it, which is gone from the place by now.
    const older = first!.replace(/^berth-\d{4}/, 'berth-2020')
    await tamper(world, 'backup', { name: older, begun_at: 1 }, { name: first! })
    await tamper(world, 'backup', { place: '/elsewhere' }, { name: last! })
    assert.equal(await look(world, '2026-12-04'), 1)
    assert.equal(backupsIn(folder).length, 3)
    assert.equal(
      (await knownOf(world)).includes(older),
      true,
      'none of its known backups is there, which removes nothing from the list',
    )
    assert.equal(await look(world, '2026-12-05'), 1)
    assert.equal((await knownOf(world)).includes(older), false)
  },
  DAILY,
)

onBothEngines(
  'a bucket that was emptied by its own rules is still accepted',
  async (world, t) => {
    const server = await strictServer(t)
    const { backups, s3 } = readConfig({ ...bucketSettings(server.endpoint), ...DAILY })
    Object.assign(world.deps.config, { backups, s3 })
    for (const day of ['2026-12-01', '2026-12-02']) assert.equal(await look(world, day), 1)
    server.objects.clear()
    assert.equal(await look(world, '2026-12-03'), 1)
    assert.equal((await knownOf(world)).length, 3, 'what is missing is not forgotten yet')
    assert.equal(await look(world, '2026-12-04'), 1)
    assert.equal((await knownOf(world)).length, 2)
  },
  DAILY,
)
