/**
 * Keeps the index right: reads all of it in slices at the start, and then what `edge_change` names. What cannot be read
 * now stays as it was: visitors are served while the database is away. docs/decisions/0073.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Deps } from '../context.ts'
import { slices } from '../db/slices.ts'
import { nextDeployments, nextNames, readDeployments, readNames, readProjects } from '../deployments/serving.ts'
import { type Hosts, openHosts } from './hosts.ts'

const SLICE = 500
/** The net under notifications that were missed. */
const POLL_MS = 2000
/** Everything is read anew this often: the net under the net. */
const WHOLE_MS = 15 * 60_000
/** On PostgreSQL a transaction that noted a change early may commit late. None lasts as long as this (statement_timeout). */
const LATEST_COMMIT_MS = 60_000

export type Followed = {
  hosts(): Hosts
  /** Grows with every change. */
  version(): number
  /** For how long the database could not be read; 0 while it can. */
  staleMs(): number
  /** Resolves when what is committed by now is known. Throws when the database cannot be read. */
  settle(): Promise<void>
  stop(): Promise<void>
}

/** Reads the whole index and follows what changes. Throws when the first reading fails. */
export async function followHosts(deps: Deps): Promise<Followed> {
  const log = openChangeLog(deps)
  let hosts = openHosts()
  let version = 0
  let readAt = performance.now()
  let failing = false
  let wholeAt = 0
  let running: Promise<void> | undefined
  let again = false
  let stopped = false

  const refresh = async () => {
    if (performance.now() >= wholeAt) {
      await log.begin()
      hosts = await readAll(deps)
      wholeAt = performance.now() + WHOLE_MS
      version++
    }
    for await (const keys of log.next()) {
      await apply(deps, hosts, keys)
      version++
    }
    readAt = performance.now()
  }
  /** One at a time; asked for while one runs, another follows it. */
  const run = (): Promise<void> => {
    again = running !== undefined
    running ??= refresh().finally(() => {
      running = undefined
      if (again) quietly()
    })
    return running
  }
  const quietly = () => {
    if (stopped) return
    run().then(
      () => {
        failing = false
      },
      (error) => {
        if (!failing) deps.log.warn({ err: error }, 'the edge cannot read the database; it goes on with what it knows')
        failing = true
      },
    )
  }

  await run()
  deps.db.onEdgeChange(quietly)
  const poll = setInterval(quietly, POLL_MS)
  return {
    hosts: () => hosts,
    version: () => version,
    staleMs: () => (failing ? performance.now() - readAt : 0),
    async settle() {
      await running?.catch(() => {})
      await run()
    },
    async stop() {
      stopped = true
      clearInterval(poll)
      await running?.catch(() => {})
    },
  }
}

/** Slice by slice, with a turn for visitors after each. */
async function readAll({ db }: Deps): Promise<Hosts> {
  const hosts = openHosts()
  for (let after = ''; ; ) {
    const names = await nextNames(db.read, after, SLICE)
    if (names.length === 0) break
    for (const facts of await readNames(db.read, names)) hosts.setName(facts.name, facts)
    after = names.at(-1)!
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

/** Reads anew what these keys name. */
async function apply({ db }: Pick<Deps, 'db'>, hosts: Hosts, keys: readonly string[]): Promise<void> {
  const of = (kind: string) => keys.filter((key) => key.startsWith(`${kind} `)).map((key) => key.slice(kind.length + 1))
  for (const names of slices(of('domain'))) {
    const found = new Map((await readNames(db.read, names)).map((facts) => [facts.name, facts]))
    for (const name of names) hosts.setName(name, found.get(name))
  }
  for (const ids of slices(of('deployment'))) await setDeployments({ db }, hosts, ids)
  for (const ids of slices(of('project'))) await setProjects({ db }, hosts, ids)
  await complete({ db }, hosts)
}

/** Reads the deployments and projects that names lead to and that are not there yet. */
async function complete({ db }: Pick<Deps, 'db'>, hosts: Hosts): Promise<void> {
  for (const ids of slices(hosts.missing().deployments)) await setDeployments({ db }, hosts, ids)
  for (const ids of slices(hosts.missing().projects)) {
    await setProjects({ db }, hosts, ids)
    await nextTurn()
  }
}

async function setDeployments({ db }: Pick<Deps, 'db'>, hosts: Hosts, ids: readonly string[]): Promise<void> {
  const found = new Map((await readDeployments(db.read, ids)).map((facts) => [facts.id, facts]))
  for (const id of ids) hosts.setDeployment(id, found.get(id))
}

async function setProjects({ db }: Pick<Deps, 'db'>, hosts: Hosts, ids: readonly string[]): Promise<void> {
  const found = new Map((await readProjects(db.read, ids)).map((facts) => [facts.id, facts]))
  for (const id of ids) hosts.setProject(id, found.get(id))
}

/**
 * What changed since it was last asked. On SQLite rows become visible in the order of their stamps; on PostgreSQL one may
 * show up behind later ones, so the last minute is always looked at again, and what was seen is passed over.
 */
function openChangeLog({ db }: Deps) {
  const overlap = db.engine === 'sqlite' ? 0 : LATEST_COMMIT_MS
  const seen = new Map<string, number>()
  let newest = 0

  return {
    /** What is there now is in what will be read after this. */
    async begin(): Promise<void> {
      const last = await db.read
        .selectFrom('edge_change')
        .select('stamp')
        .orderBy('stamp', 'desc')
        .limit(1)
        .executeTakeFirst()
      newest = last?.stamp ?? 0
    },
    /** Slices of keys. A slice that is not dealt with, because reading what it names fails, comes again. */
    async *next(): AsyncGenerator<string[]> {
      const from = newest - overlap
      let at = { stamp: from, key: '' }
      for (;;) {
        const { stamp, key } = at
        const rows = await db.read
          .selectFrom('edge_change')
          .selectAll()
          .where((eb) => eb.or([eb('stamp', '>', stamp), eb.and([eb('stamp', '=', stamp), eb('key', '>', key)])]))
          .orderBy('stamp')
          .orderBy('key')
          .limit(SLICE)
          .execute()
        const fresh = rows.filter((row) => seen.get(row.key) !== row.stamp)
        if (fresh.length > 0) yield fresh.map((row) => row.key)
        for (const row of fresh) seen.set(row.key, row.stamp)
        const last = rows.at(-1)
        if (last !== undefined) {
          at = last
          newest = Math.max(newest, last.stamp)
        }
        if (rows.length < SLICE) break
      }
      for (const [key, stamp] of seen) if (stamp < newest - overlap) seen.delete(key)
    },
  }
}
