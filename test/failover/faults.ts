/** TABLE what is done to the node that leads. */
import { appendFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Cluster, query } from './cluster.ts'
import { cutOff, joinAgain, type Node, postgresOf, signalAll } from './nodes.ts'

/** Does it to the leader. Gives what heals it again. */
type Make = (cluster: Cluster, leader: Node) => Promise<() => void | Promise<void>>
export type LeaderFault = {
  name: string
  make: Make
  /** How often in the long form and in the short one. */
  times: [full: number, short: number]
}

export const LEADER_FAULTS: readonly LeaderFault[] = [
  { name: 'kill -9 of PostgreSQL', make: killPostgres, times: [10, 2] },
  { name: 'kill -9 of PostgreSQL and Patroni', make: killBoth, times: [10, 1] },
  { name: 'frozen (SIGSTOP)', make: freeze, times: [4, 1] },
  { name: 'cut off from all others', make: cutFromAll, times: [4, 1] },
  { name: 'cut off from its peers alone', make: cutFromPeers, times: [4, 1] },
  { name: 'disk full', make: fillDisk, times: [2, 0] },
  { name: 'switch-over by command', make: switchOver, times: [4, 1] },
]

const PIECE_BYTES = 8 * 1024 * 1024

async function killPostgres(_: Cluster, leader: Node) {
  signalAll(postgresOf(leader), 'SIGKILL')
  return () => {}
}

async function killBoth(cluster: Cluster, leader: Node) {
  signalAll([leader.patroni!.pid!, ...postgresOf(leader)], 'SIGKILL')
  return () => cluster.startPatroni(leader)
}

/** PostgreSQL and Patroni stand still, and their connections stay. */
async function freeze(_: Cluster, leader: Node) {
  const pids = [leader.patroni!.pid!, ...postgresOf(leader)]
  signalAll(pids, 'SIGSTOP')
  return () => signalAll(pids, 'SIGCONT')
}

async function cutFromAll(_: Cluster, leader: Node) {
  cutOff(leader, 'everybody')
  return () => joinAgain(leader)
}

/** Clients still reach it: what it acknowledges now, no other node has. */
export async function cutFromPeers(_: Cluster, leader: Node) {
  cutOff(leader, 'peers')
  return () => joinAgain(leader)
}

async function fillDisk(_: Cluster, leader: Node) {
  const ballast = join(leader.folder, 'ballast')
  const piece = Buffer.alloc(PIECE_BYTES)
  for (let full = false; !full; ) {
    await appendFile(ballast, piece).catch((error) => {
      if (error.code !== 'ENOSPC') throw error
      full = true
    })
  }
  // Its log needs new files at once.
  for (let at = 0; at < 20; at++) await query(leader, 'select pg_switch_wal()').catch(() => {})
  return () => rm(ballast)
}

async function switchOver(cluster: Cluster, leader: Node) {
  await cluster.switchOver(leader)
  return () => {}
}
