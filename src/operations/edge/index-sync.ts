/**
 * Syncs the host index: loads it in slices at the start, then applies `edge_change`. On database errors it keeps its content, so visitors are still
 * served. docs/decisions/0073.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Deps } from '../../context.ts'
import { chunks } from '../../platform/db/chunks.ts'
import { createHostIndex, type HostIndex } from '../../platform/verdict/hosts.ts'
import {
  nextAddresses,
  nextDeployments,
  nextNames,
  readDeployments,
  readNames,
  readProjects,
} from '../../projects/serving/hosts.ts'
import { createChangeLog } from './change-log.ts'
import { type ChangeRing, createChangeRing } from './change-ring.ts'
import { keysThatDiffer } from './site-lines.ts'

const SLICE = 500
/** Fallback for missed notifications. */
const POLL_MS = 2000
/** Full reload, as a fallback for missed changes. */
const WHOLE_MS = 15 * 60_000

export type SyncedHosts = {
  hosts(): HostIndex
  /** Increases with every change. */
  version(): number
  changes: Pick<ChangeRing, 'place' | 'placeOf' | 'next'>
  /** Calls the listener after every applied change. */
  onChange(listener: () => void): void
  /** How long the database could not be read; 0 when it can. */
  staleMs(): number
  /** Resolves when the index includes everything committed by now. Throws when the database cannot be read. */
  catchUp(): Promise<void>
  stop(): Promise<void>
}

/** Loads the host index and keeps it in sync. Throws when the first load fails. */
export async function startHostSync(deps: Deps): Promise<SyncedHosts> {
  const log = createChangeLog(deps)
  let hosts = createHostIndex()
  let version = 0
  let wholeAt = 0
  const ring = createChangeRing(log.overlapMs)
  const listeners: (() => void)[] = []
  const changed = () => {
    version++
    for (const listener of listeners) listener()
  }
  const reader = openReader(deps, async () => {
    if (performance.now() >= wholeAt) {
      hosts = await readWhole(deps, log, ring, wholeAt === 0 ? undefined : hosts)
      wholeAt = performance.now() + WHOLE_MS
      changed()
    }
    for await (const changes of log.next()) {
      const keys = changes.map(({ key }) => key)
      await apply(deps, hosts, keys)
      ring.add(changes)
      changed()
    }
  })
  await reader.read()
  deps.db.changes.onChange((changed) => {
    if (changed === 'all' || changed.some((subject) => subject.startsWith('edge '))) reader.readQuietly()
  })
  const poll = setInterval(reader.readQuietly, POLL_MS)
  return {
    hosts: () => hosts,
    version: () => version,
    changes: ring,
    onChange: (listener) => void listeners.push(listener),
    staleMs: reader.staleMs,
    catchUp: reader.settle,
    async stop() {
      clearInterval(poll)
      await reader.stop()
    },
  }
}

/** Loads everything and adds the differences from the previous index to the ring; at the start, the recent changes. */
async function readWhole(
  deps: Deps,
  log: ReturnType<typeof createChangeLog>,
  ring: ChangeRing,
  before: HostIndex | undefined,
): Promise<HostIndex> {
  await log.begin()
  if (before === undefined) {
    const recent = await log.recent()
    ring.clear(recent)
    ring.add(recent.changes)
    return readAll(deps)
  }
  const fresh = await readAll(deps)
  const stamp = log.newest()
  ring.add((await keysThatDiffer(before, fresh)).map((key) => ({ key, stamp })))
  return fresh
}

/** One read at a time; requests during a read share the next one. */
function openReader({ log }: Deps, readNow: () => Promise<void>) {
  let running: Promise<void> | undefined
  let again = false
  let failing = false
  let stopped = false
  let readAt = performance.now()
  const read = (): Promise<void> => {
    again = running !== undefined
    running ??= readNow().finally(() => {
      running = undefined
      if (again) readQuietly()
    })
    return running
  }
  const readQuietly = () => {
    if (stopped) return
    read().then(
      () => {
        failing = false
        readAt = performance.now()
      },
      (error) => {
        if (!failing) log.warn({ err: error }, 'database unavailable; the edge keeps serving from its index')
        failing = true
      },
    )
  }
  return {
    read,
    readQuietly,
    staleMs: () => (failing ? performance.now() - readAt : 0),
    async settle() {
      await running?.catch(() => {})
      await read()
    },
    async stop() {
      stopped = true
      await running?.catch(() => {})
    },
  }
}

/** In slices, yielding to visitors after each. */
async function readAll({ db }: Deps): Promise<HostIndex> {
  const hosts = createHostIndex()
  for (let after = ''; ; ) {
    const names = await nextNames(db.read, after, SLICE)
    if (names.length === 0) break
    for (const facts of await readNames(db.read, names)) hosts.setName(facts.name, facts)
    after = names.at(-1)!
    await nextTurn()
  }
  for (let after = ''; ; ) {
    const addresses = await nextAddresses(db.read, after, SLICE)
    if (addresses.length === 0) break
    for (const facts of addresses) hosts.setName(facts.name, facts)
    after = addresses.at(-1)!.name
    await nextTurn()
  }
  for (let after = ''; ; ) {
    const deployments = await nextDeployments(db.read, after, SLICE)
    if (deployments.length === 0) break
    for (const facts of deployments) hosts.setDeployment(facts.id, facts)
    after = deployments.at(-1)!.id
    await nextTurn()
  }
  await complete({ db }, hosts)
  return hosts
}

/** Rereads the rows of these keys. */
async function apply({ db }: Pick<Deps, 'db'>, hosts: HostIndex, keys: readonly string[]): Promise<void> {
  const of = (kind: string) => keys.filter((key) => key.startsWith(`${kind} `)).map((key) => key.slice(kind.length + 1))
  for (const names of chunks(of('domain'))) {
    const factsOf = new Map((await readNames(db.read, names)).map((facts) => [facts.name, facts]))
    for (const name of names) hosts.setName(name, factsOf.get(name))
  }
  for (const ids of chunks(of('deployment'))) await setDeployments({ db }, hosts, ids)
  for (const ids of chunks(of('project'))) await setProjects({ db }, hosts, ids)
  await complete({ db }, hosts)
}

/** Reads the deployments and projects that names point to and the index does not have. */
async function complete({ db }: Pick<Deps, 'db'>, hosts: HostIndex): Promise<void> {
  for (const ids of chunks(hosts.missing().deployments)) await setDeployments({ db }, hosts, ids)
  for (const ids of chunks(hosts.missing().projects)) {
    await setProjects({ db }, hosts, ids)
    await nextTurn()
  }
}

async function setDeployments({ db }: Pick<Deps, 'db'>, hosts: HostIndex, ids: readonly string[]): Promise<void> {
  const factsOf = new Map((await readDeployments(db.read, ids)).map((facts) => [facts.id, facts]))
  for (const id of ids) hosts.setDeployment(id, factsOf.get(id))
}

async function setProjects({ db }: Pick<Deps, 'db'>, hosts: HostIndex, ids: readonly string[]): Promise<void> {
  const factsOf = new Map((await readProjects(db.read, ids)).map((facts) => [facts.id, facts]))
  for (const id of ids) hosts.setProject(id, factsOf.get(id))
}
