/**
 * kill -9 of the control plane and of a sites server at random times of deploys, in some of them on a full disk: no deployment is READY with a file
 * missing, and nothing is left behind once unused files were collected. docs/deploying-sites.md: Files, Collection.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openFolderStore } from '../../src/delivery/files/folder-store.ts'
import { credentialsOf, newHome, type RunningService, type ServiceHome, startSites } from '../support/process.ts'
import { freePort } from '../support/servers/free-port.ts'
import { SITES_TOKEN } from '../support/worlds/sites-world.ts'
import { collectAt } from './collecting.ts'
import { mustBeDeployed, mustShow } from './deployed.ts'
import { type Deploys, type Shown, startDeploys } from './deploying.ts'
import { fill, mount, whyNoMount } from './disk-full.ts'
import { type Fault, type Run, repeat } from './fault.ts'
import { startAndCount } from './kill.ts'
import { openLine } from './line.ts'
import { withStore } from './store.ts'

const PROJECT = 'site'
/** MiB for uploaded files. */
const ROOM = 64
/** Every third disk is full for a while before the kill. */
const FULL_EVERY = 3
const VISITED = 5
const DAY_MS = 24 * 3_600_000
/** Days after which it is collected: what is unused is condemned, and a week later removed. */
const COLLECTED = [2, 11, 20]

export const deploys: Fault = { name: 'kill -9 under deploys', engines: ['sqlite', 'postgres'], run: killAgainAndAgain }

type Place = { run: Run; home: ServiceHome; files: string; mounted: boolean; edge: number; shown: Shown[] }

async function killAgainAndAgain(run: Run): Promise<void> {
  const place = await openPlace(run)
  const { shown } = place
  let running = await startControl(place)
  const line = openLine(running.address)
  await line.say('POST', '/v10/projects', credentialsOf(place.home).token, { name: PROJECT })
  line.close()
  let sites = await startVisited(place)
  await repeat(run, run.short ? 4 : 150, async (at) => {
    const before = shown.length
    const deploying = startDeploys(running.address, credentialsOf(place.home).token, PROJECT, shown)
    const many = 1 + Math.floor(Math.random() * 6)
    await becomesTrue(() => shown.length >= before + many)
    const ballast = place.mounted && at % FULL_EVERY === 2 ? await fillUnder(place, deploying) : undefined
    await sleep(Math.random() * 150)
    if (at % 2 === 1) await sites.kill('SIGKILL')
    await running.kill('SIGKILL')
    await deploying.stop()
    mustBeEnds(run, deploying)
    if (ballast !== undefined) rmSync(ballast)
    running = await startControl(place)
    if (at % 2 === 1) sites = await startVisited(place)
    await checkAll(place, sites, `kill ${at + 1}`)
  })
  run.found.acknowledged += shown.length
  await removeHalf(place, running)
  await running.kill('SIGTERM')
  await collectAll(place)
  running = await startControl(place)
  await checkAll(place, sites, 'after the collection')
  await sites.kill('SIGTERM')
  await running.kill('SIGTERM')
}

async function openPlace(run: Run): Promise<Place> {
  const home = await newHome(run, run.engine)
  const files = join(home.folder, '..', 'files')
  const why = whyNoMount()
  const place = { run, home, files, mounted: why === undefined, edge: await freePort(), shown: [] }
  if (why !== undefined) run.found.notes.push(`no disk was full: ${why}`)
  openFolderStore(files)
  if (!place.mounted) return place
  mount(files, ROOM)
  run.after(() => execFileSync('umount', ['-l', files]))
  return place
}

function startControl({ run, home, files, edge }: Place): Promise<RunningService> {
  const settings = { BERTH_FILES_TO: files, BERTH_EDGE_PORT: String(edge), BERTH_SITES_TOKEN: SITES_TOKEN }
  return startAndCount(run, home, settings)
}

/** A sites server in a folder that stays. */
function startVisited({ run, home, edge }: Place): Promise<RunningService> {
  const env = {
    BERTH_DATA: join(home.folder, '..', 'sites'),
    BERTH_SITES_TOKEN: SITES_TOKEN,
    BERTH_SITES_CONTROL_PLANE: `http://127.0.0.1:${edge}`,
  }
  return startSites(run, { folder: home.folder, env }, {})
}

/** Waits until something is so, for `longestMs` at most. */
export async function becomesTrue(is: () => boolean, longestMs = 60_000): Promise<void> {
  for (let waited = 0; !is(); waited += 5) {
    if (waited > longestMs) throw new Error(`it did not become so in ${longestMs / 1000} s of waiting`)
    await sleep(5)
  }
}

/** Fills the disk of the files until a deploy gets an error for it. */
async function fillUnder({ files }: Place, { ends }: Deploys): Promise<string> {
  const ballast = fill(files)
  await becomesTrue(() => [...ends.keys()].some((end) => end.includes('507 storage_full')))
  return ballast
}

/** A deploy ends READY, with the error for a full disk, or without a response. */
function mustBeEnds({ found }: Run, { ends }: Deploys): void {
  const allowed = /^(READY|(upload: )?507 storage_full|503 busy|ECONNRESET|ECONNREFUSED|UND_ERR_SOCKET|EPIPE)$/
  for (const [end, count] of ends) if (!allowed.test(end)) found.broken.push(`${count} deploys ended with ${end}`)
}

async function checkAll({ run, home, files, shown }: Place, sites: RunningService, when: string): Promise<void> {
  await withStore(home, async (rows) => {
    await mustBeDeployed(rows, run.found, { files, shown, when })
  })
  for (let at = 0; at < Math.min(VISITED, shown.length); at++)
    await mustShow(run.found, sites.address, shown[Math.floor(Math.random() * shown.length)]!, when)
}

async function removeHalf({ run, home, shown }: Place, { address }: RunningService): Promise<void> {
  const line = openLine(address)
  for (const { id } of shown.splice(0, Math.ceil(shown.length / 2))) {
    const said = await line.say('DELETE', `/v13/deployments/${id}`, credentialsOf(home).token)
    if (said.status !== 200) run.found.broken.push(`${id} is not removed: ${JSON.stringify(said)}`)
  }
  line.close()
}

/** Collects as the service does, weeks later; then every file is one that a deployment has. */
async function collectAll({ run, home, files }: Place): Promise<void> {
  const moments = COLLECTED.map((days) => Date.now() + days * DAY_MS)
  await collectAt(run.engine, home, files, moments)
  const named = await withStore(home, (rows) =>
    rows('select account_id, sha256 from blob where refs > 0 and condemned_at is null'),
  )
  const wanted = named.map(({ account_id, sha256 }) => `${account_id}/${sha256}`).sort()
  const there = filesBelow(files)
  if (there.join() !== wanted.join())
    run.found.broken.push(`after the collection ${there.length} files are there, and ${wanted.length} are in use`)
}

/** Every file below the folder, as `account/SHA-256`; what is left of uploads counts too. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => `${parentPath.slice(folder.length + 1).split('/')[0]}/${name}`)
    .sort()
}
