/**
 * Follows what the control plane knows of hosts: takes all once, then what changed, and keeps both on disk. While the control plane is away it goes on
 * with what it has. docs/deploying-sites.md: What the sites server knows.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { FactLine } from '../../delivery/protocol/snapshot.ts'
import type { HostIndex } from '../../platform/verdict/hosts.ts'
import type { ControlPlane, End } from './control-plane.ts'
import { compareGeneration } from './generation.ts'
import { openSiteIndex, type SiteIndex } from './site-index.ts'
import { openSnapshotFile, type SnapshotFile } from './snapshot-file.ts'

/** So long the control plane waits for a change. A dead one is noticed soon after. */
const WAIT_S = 10
/** How soon it is asked again where it does not wait, because too many do. */
const MIN_WAIT_MS = 1000
const MIN_PAUSE_MS = 500
const MAX_PAUSE_MS = 5000

export type FollowOptions = {
  controlPlane: Pick<ControlPlane, 'snapshot'>
  /** Where the snapshot is kept; nobody else writes there. */
  folder: string
  log: Logger
  /** Hears the facts that changed, once they count. */
  onLines(lines: readonly FactLine[]): void
  /** Hears that all was replaced. */
  onAll(): void
}

export type Follower = {
  /** What is known; empty until something is. */
  hosts(): HostIndex
  /** Undefined until anything is known. */
  version(): string | undefined
  /** For how long the control plane could not be asked; 0 while it can, infinite where nothing is known. */
  staleMs(): number
  stop(): Promise<void>
}

type Known = { index: SiteIndex; version: string | undefined }
type State = FollowOptions & {
  file: SnapshotFile
  known: Known
  /** All, while what changed since it was begun is not applied yet. */
  fresh: Known | undefined
  /** What is not on disk yet. */
  unsaved: 'all' | { lines: readonly FactLine[]; version: string }[]
  failures: number
  /** When the control plane was last heard; of `Date.now()`. */
  heardAt: number
}

/** Opens what the folder holds, and follows from there. It throws where the folder cannot be made; later faults are logged, and tried again. */
export async function follow(options: FollowOptions): Promise<Follower> {
  const file = openSnapshotFile(options.folder)
  const loaded = await file.load().catch((error) => {
    options.log.warn({ err: error }, 'cannot read the snapshot that was kept; all is taken from the control plane')
  })
  const known: Known = loaded ?? { index: openSiteIndex(), version: undefined }
  const heardAt = loaded?.savedAt ?? Number.NEGATIVE_INFINITY
  // Not heard yet: what was loaded may be of long ago.
  const state: State = { ...options, file, known, fresh: undefined, unsaved: [], failures: 1, heardAt }
  const stop = new AbortController()
  const running = run(state, stop.signal)
  return {
    hosts: () => state.known.index.hosts,
    version: () => state.known.version,
    staleMs: () => (state.failures === 0 ? 0 : Math.max(0, Date.now() - state.heardAt)),
    async stop() {
      stop.abort()
      await running
      await file.close()
    },
  }
}

async function run(state: State, stopping: AbortSignal): Promise<void> {
  let isLogged = false
  while (!stopping.aborted) {
    try {
      await ask(state, stopping)
      state.failures = 0
      state.heardAt = Date.now()
      isLogged = false
    } catch (error) {
      if (stopping.aborted) return
      // What came before the control plane went away is better than nothing.
      if (state.known.version === undefined) publish(state)
      if (!isLogged) state.log.warn({ err: error }, 'cannot follow the control plane; going on with what is known')
      isLogged = true
      await pause(pauseMs(state.failures++), stopping)
    }
    await save(state)
  }
}

/** Resolves after so many ms, and at once when the sites server stops. */
async function pause(ms: number, stopping: AbortSignal): Promise<void> {
  if (ms > 0) await sleep(ms, undefined, { signal: stopping }).catch(() => {})
}

/** Longer with each failure, and different in each sites server, so that not all ask at once when the control plane comes back. */
function pauseMs(failures: number): number {
  const most = Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** Math.min(failures, 10))
  return MIN_PAUSE_MS + Math.random() * (most - MIN_PAUSE_MS)
}

/** One question and what comes of it. Throws where the answer is none, or is older than what is known. */
async function ask(state: State, stopping: AbortSignal): Promise<void> {
  const began = performance.now()
  const since = (state.fresh ?? state.known).version
  let all: SiteIndex | undefined
  let isReset = false
  const lines: FactLine[] = []
  const end = await state.controlPlane.snapshot(since, state.fresh === undefined ? WAIT_S : 0, stopping, (head) => {
    if (!head.all) return (some) => lines.push(...some)
    const index = openSiteIndex()
    all = index
    isReset = head.reset === true
    return (some) => some.forEach(index.apply)
  })
  if (end === undefined) {
    if (state.fresh === undefined) await pause(MIN_WAIT_MS - (performance.now() - began), stopping)
    return publish(state)
  }
  if (!isReset && compareGeneration(since, end.version) === 'older')
    throw new Error(
      `the control plane knows version ${end.version}, which is older than ${since}: it has not read the newest changes`,
    )
  if (all !== undefined) state.fresh = { index: all, version: end.version }
  else take(state, lines, end)
  if (!end.more) publish(state)
}

function take(state: State, lines: readonly FactLine[], { version }: End): void {
  const known = state.fresh ?? state.known
  for (const line of lines) known.index.apply(line)
  known.version = version
  if (state.fresh !== undefined) return
  if (state.unsaved !== 'all') state.unsaved.push({ lines, version })
  state.onLines(lines)
}

/** Lets what was taken anew count, now that it has all that changed meanwhile. */
function publish(state: State): void {
  if (state.fresh === undefined) return
  state.known = state.fresh
  state.fresh = undefined
  state.unsaved = 'all'
  state.onAll()
}

/** Keeps on disk what counts. A disk that fails is tried again with the next change, and visitors notice nothing. */
async function save(state: State): Promise<void> {
  const { file, known, unsaved } = state
  if (unsaved.length === 0 || known.version === undefined) return
  state.unsaved = []
  try {
    if (unsaved === 'all' || file.needsReplacing()) await file.replace(known.index.lines(), known.version)
    else for (const { lines, version } of unsaved) await file.append(lines, version)
  } catch (error) {
    state.log.warn({ err: error }, 'cannot keep the snapshot on disk')
    state.unsaved = 'all'
  }
}
