/** Outputs that no deployment shows go, and their files with them. docs/deploying-sites.md: Collection. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Deps } from '../../../src/context.ts'
import { holdOutput, writeAhead } from '../../../src/delivery/deploys/output-rows.ts'
import { collectFiles } from '../../../src/delivery/uploads/collect.ts'
import { seedDeployment, seedProject } from '../../support/projects.ts'
import { addRows, takeOutput, tamper } from '../../support/states.ts'
import { addFile, addOutput, type StoredOutput, showOutput } from '../../support/stores/outputs.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { DAY_MS } from './uploading.ts'

/** What an output releases in one transaction here, and of how many files. */
const [AT_ONCE, MANY] = [5, 12]

/** Gives an output so many files more, in the folder and in the rows. */
async function addMany({ deps }: World, accountId: string, output: StoredOutput, count: number): Promise<void> {
  const shas = Array.from({ length: count }, (_, at) =>
    createHash('sha256').update(`${output.manifest.sha256} ${at}`).digest('hex'),
  )
  for (const sha256 of shas) {
    const shelf = join(deps.config.files.to, accountId, sha256.slice(0, 2))
    mkdirSync(shelf, { recursive: true })
    writeFileSync(join(shelf, sha256), '')
  }
  await addRows(
    { deps },
    'blob',
    shas.map((sha256) => ({ account_id: accountId, sha256, size: 0, refs: 1 })),
  )
  const rows = await deps.db.read.selectFrom('blob').select(['id', 'sha256']).execute()
  const wanted = new Set(shas)
  const held = rows.filter(({ sha256 }) => wanted.has(sha256))
  await addRows(
    { deps },
    'output_blob',
    held.map(({ id }) => ({ output_id: output.id, blob_id: id })),
  )
}

/** What the rows say: outputs by id, how many files each holds, and that each file counts the outputs that hold it. */
async function heldBy({ deps }: World): Promise<Record<number, number>> {
  const { read } = deps.db
  const outputs = await read.selectFrom('output').select(['id', 'refs']).execute()
  const pairs = await read.selectFrom('output_blob').selectAll().execute()
  const holders = Map.groupBy(pairs, (pair) => pair.blob_id)
  for (const { id, refs } of await read.selectFrom('blob').select(['id', 'refs']).execute())
    assert.equal(refs, holders.get(id)?.length ?? 0, `file ${id}`)
  const counts = Object.fromEntries(outputs.map(({ id }) => [id, 0]))
  for (const { output_id } of pairs) counts[output_id] = (counts[output_id] ?? Number.NaN) + 1
  return counts
}

const collect = (world: World, days = 0) => collectFiles(world.deps, Date.now() + days * DAY_MS, AT_ONCE)

/** Where an output releases two files in a transaction. */
const collectSlowly = (deps: Deps) => collectFiles(deps, Date.now(), 2)

onBothEngines(
  'an unused output is deleted, however many files it has, and then files of no other output',
  async (world) => {
    const { userId } = world.credentials
    const id = await seedDeployment(world, await seedProject(world, 'web'), { url: 'd1.host.test' })
    const kept = await addOutput(world, userId, '{"kept":1}', ['shared', 'of the kept'])
    const gone = await addOutput(world, userId, '{"gone":1}', ['shared', 'of the other'])
    await addMany(world, userId, gone, MANY)
    await showOutput(world, id, kept)
    assert.deepEqual(await heldBy(world), { [kept.id]: 3, [gone.id]: 3 + MANY })
    assert.equal(await collect(world), 0)
    assert.deepEqual(await heldBy(world), { [kept.id]: 3 })
    assert.equal(await collect(world, 8), MANY + 2)
    assert.deepEqual(await heldBy(world), { [kept.id]: 3 })
    for (const { sha256, size } of kept.files) assert.equal(await world.deps.files.sizeOf(userId, sha256), size)
    await showOutput(world, id, null)
    await collect(world, 9)
    assert.deepEqual(await heldBy(world), {})
  },
)

onBothEngines('an equal output can be created while its predecessor is deleted, and keeps its files', async (world) => {
  const { userId } = world.credentials
  const id = await seedDeployment(world, await seedProject(world, 'web'), { url: 'd1.host.test' })
  const previous = await addOutput(world, userId, '{"a":1}', ['a page'])
  // What a process leaves that is killed behind its first step.
  await tamper(world, 'output', { sha256: `removed ${previous.id}` }, { id: previous.id })
  const anew = await addOutput(world, userId, '{"a":1}', ['a page'])
  await showOutput(world, id, anew)
  await collect(world, 8)
  assert.deepEqual(await heldBy(world), { [anew.id]: 2 })
})

/** The service, where something is done before its n-th transaction from now on. */
function before(deps: Deps, nth: number, what: () => Promise<unknown>): Deps {
  let count = 0
  const write: Deps['db']['write'] = async (work) => {
    if (++count === nth) await what()
    return deps.db.write(work)
  }
  return { ...deps, db: { ...deps.db, write } }
}

onBothEngines('a collection that is killed at any step is completed by the next one', async (world) => {
  const { userId } = world.credentials
  for (let step = 1; step <= 3; step++) {
    await addOutput(world, userId, `{"step":${step}}`, ['one', 'two'])
    const killed = before(world.deps, step, () => Promise.reject(new Error('killed')))
    await assert.rejects(collectSlowly(killed), /killed/)
    await heldBy(world)
    await collect(world)
    assert.deepEqual(await heldBy(world), {}, `step ${step}`)
  }
})

onBothEngines(
  'a deployment that takes an output while it is collected has all of its files, or finds none to take',
  async (world) => {
    const { userId } = world.credentials
    const id = await seedDeployment(world, await seedProject(world, 'web'), { url: 'd1.host.test' })
    const outcomes: boolean[] = []
    for (let step = 1; step <= 3; step++) {
      const output = await addOutput(world, userId, `{"step":${step}}`, ['one', 'two'])
      let taken = false
      const racing = before(world.deps, step, async () => {
        taken = await takeOutput(world, id, output.sha256)
      })
      await collectSlowly(racing)
      assert.deepEqual(await heldBy(world), taken ? { [output.id]: 3 } : {}, `step ${step}`)
      outcomes.push(taken)
      await showOutput(world, id, null)
      await collect(world)
    }
    assert.deepEqual(outcomes, [true, false, false])
  },
)

onBothEngines('concurrent collections and deployments lose no file', async (world) => {
  const { userId } = world.credentials
  const id = await seedDeployment(world, await seedProject(world, 'web'), { url: 'd1.host.test' })
  for (let round = 0; round < 8; round++) {
    const output = await addOutput(world, userId, `{"round":${round}}`, ['a page'])
    const [taken] = await Promise.all([takeOutput(world, id, output.sha256), collect(world), collect(world)])
    assert.deepEqual(await heldBy(world), taken ? { [output.id]: 2 } : {}, `round ${round}`)
    await showOutput(world, id, null)
    await collect(world)
  }
})

onBothEngines(
  'an output with a deployment but a reference count of 0 stops the collection (logs an error)',
  async (world) => {
    const { userId } = world.credentials
    const id = await seedDeployment(world, await seedProject(world, 'web'), { url: 'd1.host.test' })
    const [shown, idle] = [await addOutput(world, userId, '{"a":1}'), await addOutput(world, userId, '{"b":1}')]
    const unused = await addFile(world, userId, 'unused')
    await showOutput(world, id, shown)
    await tamper(world, 'output', { refs: 0 }, { id: shown.id })
    assert.equal(await collect(world, 20), 0)
    assert.match(world.logged(), new RegExp(`the output ${shown.id} of ${userId} counts no deployment`))
    assert.deepEqual(Object.keys(await heldBy(world)).map(Number), [shown.id, idle.id])
    const { condemned_at } = await world.deps.db.read
      .selectFrom('blob')
      .select('condemned_at')
      .where('id', '=', unused.id)
      .executeTakeFirstOrThrow()
    assert.equal(condemned_at, null)
  },
)

onBothEngines('an output that was written ahead and collected meanwhile is not taken', async (world) => {
  const { userId } = world.credentials
  const { deps } = world
  const id = await seedDeployment(world, await seedProject(world, 'web'), { url: 'd1.host.test' })
  const shown = await addOutput(world, userId, '{"a":1}', ['a page'])
  await addMany(world, userId, shown, 600)
  await showOutput(world, id, shown)
  const blobs = await deps.db.read.selectFrom('blob').select('sha256').execute()
  const files = blobs.map(({ sha256 }) => sha256)
  const output = { digest: 'of a large output', manifest: shown.manifest, files, put: [] }
  const ctx = { deps, account: { id: userId }, now: Date.now() } as Parameters<typeof writeAhead>[0]
  const hold = (ahead: number | undefined) =>
    deps.db.write((db) => holdOutput({ db, deps }, userId, output, ahead), userId)
  const lost = await writeAhead(ctx, output)
  // The process was stopped for hours, and another instance went on.
  await collectFiles(deps, Date.now() + 2 * 3_600_000, 1000)
  await assert.rejects(hold(lost), /were removed while they were read/)
  assert.deepEqual(Object.keys(await heldBy(world)).map(Number), [shown.id])
  const ahead = await writeAhead(ctx, output)
  assert.equal(await hold(ahead), ahead)
  assert.equal((await heldBy(world))[ahead!], files.length)
})
