/** Which files stay, and which are removed when: the plan, and what carries it out. docs/deploying-sites.md: Collection. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { collectFiles } from '../../../src/delivery/uploads/collect.ts'
import { missingFiles } from '../../../src/delivery/uploads/missing.ts'
import {
  type Found,
  KEPT,
  planCollection,
  type StoredBlob,
  type StoredOutput,
} from '../../../src/delivery/uploads/plan.ts'
import { setRefs } from '../../support/states.ts'
import { ENGINES, onBothEngines, openWorld, type World } from '../../support/world.ts'
import { DAY_MS, sha1Of, thereIs, upload } from './uploading.ts'

const NOW = 1_800_000_000_000

function found(fields: Partial<Found>): Found {
  const nothing = { oldestBackup: undefined, outputs: [], blobs: [], strays: [] }
  return { now: NOW, ...nothing, promised: 100, missing: 0, ...fields }
}

function blob(fields: Partial<StoredBlob>): StoredBlob {
  return { id: 1, accountId: 'acc_1', sha256: 'a', refs: 0, condemnedAt: null, touchedAt: NOW, ...fields }
}

function output(fields: Partial<StoredOutput>): StoredOutput {
  return { id: 1, accountId: 'acc_1', refs: 0, isShown: false, ...fields }
}

test('a file is condemned once it has no reference and no request for a day', () => {
  const planned = (one: StoredBlob) => planCollection(found({ blobs: [one] })).condemn.length
  assert.equal(planned(blob({ touchedAt: NOW - KEPT.unusedMs + 1 })), 0)
  assert.equal(planned(blob({ touchedAt: NOW - KEPT.unusedMs })), 1)
  assert.equal(planned(blob({ touchedAt: undefined })), 1)
  assert.equal(planned(blob({ touchedAt: 0, refs: 1 })), 0)
  assert.equal(planned(blob({ touchedAt: 0, condemnedAt: NOW })), 0)
})

test('a condemned file is removed after a week, and after the oldest backup that was begun before', () => {
  const planned = (condemnedAt: number | null, oldestBackup?: number) =>
    planCollection(found({ blobs: [blob({ condemnedAt })], oldestBackup })).remove.length
  const weekAgo = NOW - KEPT.condemnedMs
  assert.equal(planned(null), 0)
  assert.equal(planned(weekAgo), 0)
  assert.equal(planned(weekAgo - 1), 1)
  assert.equal(planned(weekAgo - 1, weekAgo), 1)
  assert.equal(planned(weekAgo - 1, weekAgo - 1), 0)
  assert.equal(planned(weekAgo - 1, NOW), 1)
})

test('a file without a row is removed once it is a day old', () => {
  const planned = (writtenAt: number) =>
    planCollection(found({ strays: [{ accountId: 'acc_1', sha256: 'a', writtenAt }] })).strays.length
  assert.equal(planned(NOW - KEPT.strayMs), 0)
  assert.equal(planned(NOW - KEPT.strayMs - 1), 1)
})

test('an output is removed once no deployment counts for it', () => {
  const planned = (refs: number) => planCollection(found({ outputs: [output({ refs })] })).outputs.length
  assert.deepEqual([planned(0), planned(1)], [1, 0])
})

test('a plan does nothing when many files are missing, or when a file to be removed has a reference', () => {
  const all = {
    outputs: [output({})],
    blobs: [blob({ touchedAt: 0 }), blob({ condemnedAt: 1 })],
    strays: [{ accountId: 'acc_1', sha256: 'b', writtenAt: 0 }],
  }
  const lists = ({ outputs, condemn, remove, strays }: ReturnType<typeof planCollection>) =>
    [outputs, condemn, remove, strays].map((one) => one.length)
  assert.deepEqual(lists(planCollection(found({ ...all, missing: 1 }))), [1, 1, 1, 1])
  const lost = planCollection(found({ ...all, missing: 2 }))
  assert.deepEqual(lists(lost), [0, 0, 0, 0])
  assert.match(lost.fault!, /2 of 100 files are not in the folder of BERTH_FILES_TO/)
  const used = planCollection(found({ ...all, blobs: [...all.blobs, blob({ condemnedAt: 1, refs: 3, sha256: 'c' })] }))
  assert.deepEqual(lists(used), [0, 0, 0, 0])
  assert.match(used.fault!, /the file c of acc_1 is to be removed, and 3 deployments have it/)
})

test('a plan does nothing where a deployment shows an output that counts none', () => {
  const shown = output({ id: 7, isShown: true })
  const plan = planCollection(found({ outputs: [output({}), shown], blobs: [blob({ touchedAt: 0 })] }))
  assert.deepEqual([plan.outputs.length, plan.condemn.length], [0, 0])
  assert.match(plan.fault!, /the output 7 of acc_1 counts no deployment, and there is one that shows it/)
  assert.equal(planCollection(found({ outputs: [{ ...shown, refs: 1 }] })).fault, undefined)
})

/** Collects, so many days from now. Gives how many files were removed. */
async function collect(world: World, days: number): Promise<number> {
  const now = Date.now() + days * DAY_MS
  world.deps.clock.set(now)
  return (await world.operator('POST', '/operator/v1/timers/unused-files/run', { now })).body.swept
}

onBothEngines('an unreferenced file is condemned after a day, and deleted a week later', async (world) => {
  const other = await world.user('other')
  for (const text of ['unused', 'unused too', 'used']) await upload(world.call, text)
  await upload(other.call, 'unused')
  await setRefs(world, sha1Of('used'), 1)
  assert.equal(await collect(world, 0.9), 0)
  assert.ok((await thereIs(world)).blobs.every(({ condemned_at }) => condemned_at === null))
  assert.equal(await collect(world, 1.1), 0)
  const condemned = await thereIs(world)
  assert.deepEqual(
    condemned.blobs.map(({ condemned_at }) => condemned_at !== null),
    [true, true, false, true],
  )
  assert.equal(condemned.files.length, 4)
  assert.equal(await collect(world, 8), 0)
  assert.equal(await collect(world, 8.2), 3)
  const left = await thereIs(world)
  assert.deepEqual([left.files.length, left.blobs.length, left.used], [1, 1, [4096]])
  assert.deepEqual(
    left.uploads.map(({ sha1 }) => sha1),
    [sha1Of('used')],
  )
  assert.equal(await collect(world, 100), 0)
  assert.equal((await upload(world.call, 'unused')).status, 200)
  assert.equal((await thereIs(world)).files.length, 2)
})

onBothEngines('uploading a condemned file keeps it, and asking for it does not', async (world) => {
  await upload(world.call, 'back')
  await collect(world, 1.1)
  const ask = () =>
    world.deps.db.write((tx) =>
      missingFiles({ db: tx, now: world.deps.clock.now() }, world.credentials.userId, [sha1Of('back')]),
    )
  assert.deepEqual(await ask(), [sha1Of('back')])
  assert.equal((await upload(world.call, 'back')).status, 200)
  assert.deepEqual(await ask(), [])
  assert.deepEqual(
    (await thereIs(world)).blobs.map(({ condemned_at }) => condemned_at),
    [null],
  )
  await collect(world, 2)
  assert.equal(await collect(world, 8.5), 0)
  assert.equal((await thereIs(world)).files.length, 1)
})

onBothEngines('of many files the missing ones are returned, once each, and the others are touched', async (world) => {
  const { userId } = world.credentials
  const other = await world.user('other')
  for (const text of ['one', 'two', 'three']) await upload(world.call, text)
  await upload(other.call, 'theirs')
  const names = [
    'one',
    ...Array.from({ length: 2500 }, (_, at) => `none ${at}`),
    'theirs',
    'one',
    'theirs',
    'three',
  ].map(sha1Of)
  const now = Date.now() + DAY_MS
  const missing = await world.deps.db.write((tx) => missingFiles({ db: tx, now }, userId, names))
  assert.deepEqual(missing, names.slice(1, 2502))
  const touched = (await thereIs(world)).uploads.filter(({ touched_at }) => touched_at === now)
  assert.deepEqual(
    touched.map(({ sha1 }) => sha1),
    ['one', 'three'].map(sha1Of).sort(),
  )
})

onBothEngines('a file that no row names is removed once it is a day old, and a young one is not', async (world) => {
  const { userId } = world.credentials
  await upload(world.call, 'named')
  const sha256 = await putStray(world, userId)
  writeFileSync(join(world.deps.config.files.to, userId, 'README'), 'not ours')
  writeFileSync(join(world.deps.config.files.to, userId, sha256.slice(0, 2), 'README'), 'not ours')
  assert.equal(await collect(world, 0.9), 0)
  assert.ok(await world.deps.files.sizeOf(userId, sha256))
  assert.equal(await collect(world, 1.1), 1)
  assert.equal(await world.deps.files.sizeOf(userId, sha256), undefined)
  assert.ok((await thereIs(world)).files.includes(`${userId}/README`))
})

onBothEngines('files of an account that the store does not know stay: they are of another store', async (world) => {
  const sha256 = await putStray(world, 'team_ofAnother')
  assert.equal(await collect(world, 100), 0)
  assert.ok(await world.deps.files.sizeOf('team_ofAnother', sha256))
})

/** A file without a row, as a stop in the middle of an upload leaves it. */
async function putStray({ deps: { files } }: World, accountId: string): Promise<string> {
  async function* pieces() {
    yield Buffer.from('a stray')
  }
  return (await files.put(accountId, pieces(), { sha1: undefined, size: undefined, max: 100 })).sha256
}

onBothEngines('leftovers of an interrupted upload are removed once they are a day old', async (world) => {
  const arriving = join(world.deps.config.files.to, 'arriving')
  for (const name of ['.new.left.part', '.old.left.part', 'README']) writeFileSync(join(arriving, name), 'half')
  assert.equal(await collect(world, 0.9), 0)
  assert.equal(readdirSync(arriving).length, 3)
  assert.equal(await collect(world, 1.1), 2)
  assert.deepEqual(readdirSync(arriving), ['README'])
})

for (const engine of ENGINES)
  test(`where files are missing nothing is removed, and the log says so (logs an error) [${engine}]`, async () => {
    const world = await openWorld(engine)
    try {
      await upload(world.call, 'unused')
      await collect(world, 1.1)
      await upload(world.call, 'young')
      const left = join(world.deps.config.files.to, 'arriving', '.new.left.part')
      writeFileSync(left, 'half')
      const folder = join(world.deps.config.files.to, world.credentials.userId)
      renameSync(folder, `${folder}-elsewhere`)
      assert.equal(await collect(world, 20), 0)
      assert.match(world.logged(), /1 of 1 files are not in the folder of BERTH_FILES_TO/)
      assert.equal((await thereIs(world)).blobs.length, 2)
      assert.ok(existsSync(left))
      renameSync(`${folder}-elsewhere`, folder)
      assert.equal(await collect(world, 20), 2)
      assert.ok(!existsSync(left))
    } finally {
      await world.close()
    }
  })

onBothEngines('a stop ends a collection, also while it looks at the files', async (world) => {
  const { deps } = world
  for (const text of ['one', 'two', 'three']) await upload(world.call, text)
  let seen = 0
  async function* all() {
    for await (const file of deps.files.all()) {
      seen++
      yield file
    }
  }
  const files = { ...deps.files, all }
  const now = deps.clock.now() + 2 * DAY_MS
  const stopping = { ...deps, files, shutdownSignal: AbortSignal.abort() }
  assert.deepEqual([await collectFiles(stopping, now), seen], [0, 1])
  seen = 0
  await collectFiles({ ...deps, files }, now)
  assert.equal(seen, 3)
})
