/**
 * Follows host facts of the control plane: a full snapshot first, then changes, both stored on disk. While the control plane is
 * unavailable, it uses the stored data. docs/deploying-sites.md: Data of the sites server.
 */
import type { Logger } from 'pino'
import type { FactLine } from '../../delivery/protocol/snapshot.ts'
import { pause } from '../../platform/base/clock.ts'
import type { HostIndex } from '../../platform/verdict/hosts.ts'
import type { ControlPlane, End } from './control-plane.ts'
import { compareGeneration } from './generation.ts'
import { createSiteIndex, type SiteIndex } from './site-index.ts'
import { openSnapshotFile, type SnapshotFile } from './snapshot-file.ts'

/** How long the control plane waits for a change. Bounds how late a dead connection is detected. */
const WAIT_S = 10
/** The minimum interval if the control plane does not wait because it has too many followers. */
const MIN_WAIT_MS = 1000
const MIN_PAUSE_MS = 500
const MAX_PAUSE_MS = 5000

export type FollowOptions = {
  controlPlane: Pick<ControlPlane, 'snapshot'>
  /** The directory of the snapshot. No other process may write there. */
  folder: string
  log: Logger
  /** Receives changed facts after they are published. */
  onLines(lines: readonly FactLine[]): void
  onAll(): void
}

export type Follower = {
  /** The current facts; empty before the first snapshot. */
  hosts(): HostIndex
  /** Undefined before the first snapshot. */
  version(): string | undefined
  /** The platform suffix of the control plane; undefined without one, and before the first snapshot. */
  suffix(): string | undefined
  /** How long the control plane has been unreachable: 0 while it responds, infinite before the first snapshot. */
  staleMs(): number
  stop(): Promise<void>
}

/** `suffix`: empty without one; undefined for a stored list of an earlier version, which does not say it. */
type Known = { index: SiteIndex; version: string | undefined; suffix: string | undefined }
type State = FollowOptions & {
  file: SnapshotFile
  known: Known
  /** A full snapshot, until the changes since its start are applied. */
  fresh: Known | undefined
  unsaved: 'all' | { lines: readonly FactLine[]; version: string }[]
  failures: number
  /** Time of the last response of the control plane, from `Date.now()`. */
  heardAt: number
}

/** Loads the directory and follows from there. Throws if the directory cannot be created. Later errors are logged and retried. */
export async function follow(options: FollowOptions): Promise<Follower> {
  const file = openSnapshotFile(options.folder)
  const loaded = await file.load().catch((error) => {
    options.log.warn({ err: error }, 'cannot read the stored snapshot; requesting a full one from the control plane')
  })
  const known: Known = loaded ?? { index: createSiteIndex(), version: undefined, suffix: undefined }
  const heardAt = loaded?.savedAt ?? Number.NEGATIVE_INFINITY
  // No response yet: loaded facts may be old.
  const state: State = { ...options, file, known, fresh: undefined, unsaved: [], failures: 1, heardAt }
  const stop = new AbortController()
  const running = run(state, stop.signal)
  return {
    hosts: () => state.known.index.hosts,
    version: () => state.known.version,
    suffix: () => state.known.suffix || undefined,
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
      // Facts from before the control plane became unavailable are better than none.
      if (state.known.version === undefined) publish(state)
      if (!isLogged) state.log.warn({ err: error }, 'cannot follow the control plane; serving from stored facts')
      isLogged = true
      await pause(pauseMs(state.failures++), stopping)
    }
    await save(state)
  }
}

/** Backs off with jitter, so that not all sites servers reconnect at once. */
function pauseMs(failures: number): number {
  const max = Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** Math.min(failures, 10))
  return MIN_PAUSE_MS + Math.random() * (max - MIN_PAUSE_MS)
}

/** Requests once and applies the response. Throws if it fails or is older than the current facts. */
async function ask(state: State, stopping: AbortSignal): Promise<void> {
  const began = performance.now()
  const { version, suffix } = state.fresh ?? state.known
  const since = suffix === undefined ? undefined : version
  let all: Omit<Known, 'version'> | undefined
  let isReset = false
  const lines: FactLine[] = []
  const end = await state.controlPlane.snapshot(since, state.fresh === undefined ? WAIT_S : 0, stopping, (head) => {
    if (!head.all) return (some) => lines.push(...some)
    const index = createSiteIndex()
    all = { index, suffix: head.suffix ?? '' }
    isReset = head.reset === true
    return (some) => some.forEach(index.apply)
  })
  if (end === undefined) {
    if (state.fresh === undefined) await pause(Math.max(0, MIN_WAIT_MS - (performance.now() - began)), stopping)
    return publish(state)
  }
  if (!isReset && compareGeneration(since, end.version) === 'older')
    throw new Error(
      `the control plane knows version ${end.version}, which is older than ${since}: it has not read the newest changes`,
    )
  if (all !== undefined) state.fresh = { ...all, version: end.version }
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

/** Publishes a full snapshot after all changes since its start are applied. */
function publish(state: State): void {
  if (state.fresh === undefined) return
  state.known = state.fresh
  state.fresh = undefined
  state.unsaved = 'all'
  state.onAll()
}

/** Stores the published facts. Disk errors do not affect visitors and are retried with the next change. */
async function save(state: State): Promise<void> {
  const { file, known, unsaved } = state
  if (unsaved.length === 0 || known.version === undefined) return
  state.unsaved = []
  try {
    if (unsaved === 'all' || file.needsReplacing()) await file.replace(known.index.lines(), known.version, known.suffix)
    else for (const { lines, version } of unsaved) await file.append(lines, version)
  } catch (error) {
    state.log.warn({ err: error }, 'cannot store the snapshot on disk')
    state.unsaved = 'all'
  }
}
