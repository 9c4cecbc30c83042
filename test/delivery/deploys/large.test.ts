/** Large outputs are written ahead of their deployment, and what an archive holds counts before it is kept. docs/deploying-sites.md: Outputs. */
import assert from 'node:assert/strict'
import { seedProject } from '../../support/projects.ts'
import { cutOffOutputs } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { assertRefused } from '../../support/worlds/domain-world.ts'
import { file, tgz } from '../archive/tar.ts'
import { DAY_MS, sha1Of, thereIs, upload } from '../uploads/uploading.ts'
import { mustCountRight, outputsOf, SUFFIX } from './deploying.ts'

const HOUR_MS = 3_600_000

/** An archive of an output of so many pages. */
function pack(pages: number, text = 'page'): Buffer {
  const files = Array.from({ length: pages }, (_, at) => file(`.vercel/output/static/${at}.html`, `${text} ${at}`))
  return tgz(file('.vercel/output/config.json', '{"version":3}'), ...files)
}

function deployArchive({ call }: World, archive: Buffer, said: object = {}) {
  const files = [{ file: '.vercel/source.tgz', sha: sha1Of(archive), size: archive.length }]
  return call.try('POST', '/v13/deployments?prebuilt=1', { name: 'web', files, ...said })
}

const sweep = ({ operator }: World) => operator('POST', '/operator/v1/timers/unused-files/run', {})

onBothEngines(
  'a large output is one row also when two requests write it at once, and an interrupted write is swept',
  async (world) => {
    await seedProject(world, 'web')
    const archive = pack(600)
    await upload(world.call, archive)
    const all = await Promise.all(['1', '2'].map((n) => deployArchive(world, archive, { meta: { n } })))
    assert.deepEqual(
      all.map((one) => one.status),
      [200, 200],
    )
    const named = (await outputsOf(world)).outputs.filter(({ refs }) => Number(refs) > 0)
    assert.deepEqual(
      named.map(({ refs }) => Number(refs)),
      [2],
    )
    await sweep(world)
    assert.equal((await outputsOf(world)).outputs.length, 1)
    await mustCountRight(world)
    // The budget of deployments is asked in the transaction, when all is written ahead.
    const other = pack(600, 'other')
    await upload(world.call, other)
    const refusal = await deployArchive(world, other, { customEnvironmentSlugOrId: null, meta: { n: '3' } })
    assertRefused(refusal, 409, 'budget_used_up')
    await sweep(world)
    const { outputs, held, deployments } = await outputsOf(world)
    assert.deepEqual([outputs.length, held.length, deployments.length], [1, 601, 2])
    await mustCountRight(world)
    for (const { id } of deployments) await world.call('DELETE', `/v13/deployments/${id}`)
    await sweep(world)
    assert.deepEqual((await outputsOf(world)).held, [])
    await mustCountRight(world)
  },
  { ...SUFFIX, BERTH_BUDGETS: '{"deployments":2}' },
)

onBothEngines(
  'the early writes of a process that died are swept an hour later, and not before',
  async (world) => {
    await seedProject(world, 'web')
    const archive = pack(600)
    await upload(world.call, archive)
    assert.equal((await deployArchive(world, archive)).status, 200)
    const now = world.deps.clock.now()
    await cutOffOutputs(world, now)
    await sweep(world)
    assert.equal((await outputsOf(world)).outputs.length, 1)
    world.deps.clock.set(now + HOUR_MS + 1)
    await sweep(world)
    const { outputs, held, blobs } = await outputsOf(world)
    assert.deepEqual([outputs, held, blobs.filter(({ refs }) => Number(refs) !== 0)], [[], [], []])
  },
  SUFFIX,
)

onBothEngines(
  'an archive that exceeds the free space of the account is refused, and unpacked files count until they are collected',
  async (world) => {
    await seedProject(world, 'web')
    const archive = pack(40)
    assert.equal((await upload(world.call, archive)).status, 200)
    const asked = await deployArchive(world, archive)
    assertRefused(asked, 409, 'budget_used_up')
    const { outputs, deployments } = await outputsOf(world)
    assert.deepEqual([outputs, deployments], [[], []])
    const { files, blobs, used } = await thereIs(world)
    assert.equal(files.length, blobs.length, 'each file has a row')
    assert.ok(files.length < 41, 'it ended early')
    assert.deepEqual(used, [blobs.length * 4096])
    const condemned = blobs.filter((blob) => blob.condemned_at !== null)
    assert.equal(condemned.length, blobs.length - 1, 'all but the archive are removed after a day')
    assert.ok(condemned.every((blob) => Number(blob.condemned_at) < world.deps.clock.now() - 5 * DAY_MS))
  },
  { ...SUFFIX, BERTH_FILES_PER_ACCOUNT: '64KiB' },
)
