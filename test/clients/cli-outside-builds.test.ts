/**
 * Functions and apps of Next.js of another project: folders of `packages/node` and `packages/next` of a clone of vercel/vercel (Apache-2.0), whose
 * folder `packages` BERTH_PACKAGE_FIXTURES names. The newest CLI deploys their source, a runner builds it, and the deployment is asked what their
 * probes ask. They are not in this repository; without the folder the test is skipped. docs/testing.md.
 */
import assert, { AssertionError } from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { callerAt } from '../support/process.ts'
import { begin } from './frameworks/visits.ts'
import { linkFolder, MARKED, prepareFolder } from './outside/folders.ts'
import { DECIDED_FAULTS, FAILING_PROBES, LEFT_OUT } from './outside/left-out.ts'
import { askProbes, type Deployed, type Probed, type Sent } from './outside/probes.ts'
import { folderWith, startLaptop } from './source-builds.ts'

/** TABLE how many folders of a package are built: all, or as many as the seed chooses. */
const FAMILIES = [
  { family: 'node', fewest: 33, most: Number.POSITIVE_INFINITY },
  { family: 'next', fewest: 25, most: 25 },
] as const

const packages = process.env.BERTH_PACKAGE_FIXTURES ?? ''
const SEED = Number(process.env.BERTH_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
/** These folders alone, to look at one of them. */
const ONLY = process.env.BERTH_TEST_FOLDERS?.split(' ')
const LEAST_SHARE = 0.95
/** Builds at the same time: while one installs its packages, another computes. */
const LANES = 2
const TIMEOUT_MS = 3 * 3_600_000
const WORDS = [
  ...['--env', `RANDOMNESS_ENV_VAR=${MARKED}`, '--build-env', `RANDOMNESS_BUILD_ENV_VAR=${MARKED}`],
  ...['--build-env', 'NEXT_TELEMETRY_DISABLED=1'],
]

const skip = !existsSync(packages) && 'BERTH_PACKAGE_FIXTURES names no folder of packages'

type Laptop = Awaited<ReturnType<typeof startLaptop>>
/** A sentence says why it was not built. */
type Row = { folder: string; outcome: Probed[] | string }

for (const { family, fewest, most } of FAMILIES)
  test(`builds of packages/${family} are served as their probes expect`, { skip, timeout: TIMEOUT_MS }, async (t) => {
    console.log(`BERTH_TEST_SEED=${SEED}`)
    const laptop = await startLaptop(t, { BERTH_RUNNER_BUILDS: String(LANES) })
    // As plain processes, folders without a package.json would be installed into this repository, which is above them.
    assert.ok(laptop.isSandboxed, 'no sandbox with a network starts here: docs/sandbox.md')
    const rows = await buildAll(t, laptop, family, most)
    assert.equal(await laptop.running.kill('SIGTERM'), 0)
    const built = rows.filter(({ outcome }) => typeof outcome !== 'string')
    const probed = built.flatMap(({ outcome }) => outcome as Probed[])
    const failed = probed.filter(({ fault }) => fault !== undefined)
    console.log(`${built.length} folders, ${probed.length - failed.length} of ${probed.length} probes`)
    const unbuilt = rows.filter(({ folder, outcome }) => typeof outcome === 'string' && !isLeftOut(family, folder))
    assert.deepEqual(unbuilt, [])
    assert.deepEqual(
      failed.filter(({ name, fault }) => FAILING_PROBES[name] === undefined && !isDecided(fault!)),
      [],
    )
    if (ONLY !== undefined) return
    assert.ok(built.length >= fewest)
    assert.ok(probed.length - failed.length >= LEAST_SHARE * probed.length)
  })

function isDecided(fault: string): boolean {
  return DECIDED_FAULTS.some(([pattern]) => pattern.test(fault))
}

function isLeftOut(family: string, folder: string): boolean {
  return LEFT_OUT[family]?.[folder] !== undefined
}

/** Builds folders in the order of the seed until `most` of them are built, and prints what came of each. */
async function buildAll(t: TestContext, laptop: Laptop, family: string, most: number): Promise<Row[]> {
  const fixtures = join(packages, family, 'test', 'fixtures')
  const names = readdirSync(fixtures).filter((folder) => ONLY === undefined || ONLY.includes(folder))
  const rows: Row[] = []
  for (const folder of names.filter((name) => isLeftOut(family, name)))
    rows.push({ folder, outcome: LEFT_OUT[family]![folder]! })
  const waiting = names
    .filter((name) => !isLeftOut(family, name))
    .toSorted((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1))
  let wanted = most
  const lane = async () => {
    while (waiting.length > 0 && wanted > 0) {
      wanted--
      const folder = waiting.shift()!
      // One that cannot be tried does not end the others.
      const outcome = await deployAndAsk(t, laptop, join(fixtures, folder), folder).catch((error) =>
        String(error.stack),
      )
      if (typeof outcome === 'string') wanted++
      rows.push({ folder, outcome })
      print(rows.at(-1)!)
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return rows
}

function orderOf(folder: string): string {
  return createHash('sha256').update(`${SEED} ${folder}`).digest('hex')
}

/** A line for the folder, and one for each probe that failed. */
function print({ folder, outcome }: Row): void {
  const probed = typeof outcome === 'string' ? [] : outcome
  const failed = probed.filter(({ fault }) => fault !== undefined)
  const passed = `${probed.length - failed.length} of ${probed.length} probes`
  console.log(`${folder}: ${typeof outcome === 'string' ? `not built: ${outcome}` : passed}`)
  for (const { name, fault } of failed) console.log(`  ${name}: ${fault}`)
}

/** Deploys a folder and asks its probes. Returns what the CLI said where it was not built. */
async function deployAndAsk(t: TestContext, laptop: Laptop, from: string, name: string): Promise<Probed[] | string> {
  // As upstream names its projects: the CLI takes the name of the folder as it is.
  const project = name.toLowerCase().replace(/[._]/g, '-')
  const folder = folderWith(t, {}, project)
  const { probes, settings } = prepareFolder(from, folder)
  const call = callerAt(laptop.running, laptop.token)
  if (settings !== undefined) {
    const { body } = await call('POST', `/v10/projects?teamId=${laptop.teamId}`, { name: project, ...settings })
    linkFolder(folder, { projectId: body.id, orgId: body.accountId })
  }
  const deployed = await laptop.deploy(folder, '64.0.2', WORDS).catch((error) => {
    if (error instanceof AssertionError) return reasonOf(error.message)
    throw error
  })
  if (typeof deployed === 'string') return deployed
  const site = siteOf(laptop, deployed.host)
  const get: Sent = { method: 'GET', headers: {}, body: '' }
  await eventually(async () => (await site.visit('/', get)).headers['x-vercel-error'] !== 'DOMAIN_NOT_FOUND')
  return askProbes(name, probes, site)
}

/** The first lines from the one that names an error, without their times. */
function reasonOf(said: string): string {
  const lines = said.split('\n').map((line) => line.replace(/^\S+Z {2}/, ''))
  const first = Math.max(
    0,
    lines.findIndex((line) => /\berr(?:or)?\b/i.test(line)),
  )
  return lines.slice(first, first + 12).join('\n')
}

function siteOf(laptop: Laptop, host: string): Deployed {
  const site = { host, port: Number(new URL(laptop.sites()).port), scheme: 'https' } as const
  return {
    host,
    visit: async (path, { method, headers, body }) => {
      const answer = await begin(site, [method, path], { accept: '*/*', ...headers, host }, body)
      return { status: answer.statusCode!, headers: answer.headers, text: await text(answer) }
    },
    log: async () => {
      const { body } = await callerAt(laptop.running, laptop.token)(
        'GET',
        `/v3/deployments/${host}/events?teamId=${laptop.teamId}`,
      )
      return body.map((line) => line.text).join('\n')
    },
  }
}
