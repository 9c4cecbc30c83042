/** What the tests of the channel to sites servers share. */
import assert from 'node:assert/strict'
import { type HostFacts, readHostFacts, readLine, type SnapshotLine } from '../../../src/delivery/protocol/snapshot.ts'
import { openEdge } from '../../../src/operations/edge/listener.ts'
import type { World } from '../world.ts'
import { SETTINGS as DOMAINS } from './deploy-world.ts'
import { type CallEdge, callEdgeAt } from './edge-world.ts'

export const SITES_TOKEN = 'token-of-the-sites-servers'
export const SETTINGS = { ...DOMAINS, BERTH_SITES_TOKEN: SITES_TOKEN }
const BEARER = { authorization: `Bearer ${SITES_TOKEN}` }

export type Snapshot = { lines: SnapshotLine[]; all: boolean; reset: boolean; version: string; more: boolean }

/** One more control plane over the store of a world, as another instance or the same after a restart. */
export async function openInstance(world: World, port = 0) {
  const edge = await openEdge(world.deps)
  const origin = await edge.listen('127.0.0.1', port)
  const ask: CallEdge = (path, headers = BEARER, method) => callEdgeAt(origin, path, headers, method)
  /** The response; undefined where nothing changed. */
  const snapshot = async (since?: string, wait = 0): Promise<Snapshot | undefined> => {
    const answer = await ask(`/sites/v1/snapshot?${since === undefined ? '' : `since=${since}&`}wait=${wait}`)
    if (answer.status === 304) return undefined
    assert.equal(answer.status, 200, answer.text)
    return readAnswer(answer.text)
  }
  const host = async (name: string): Promise<HostFacts | undefined> => {
    const answer = await ask(`/sites/v1/hosts/${name}`)
    return answer.status === 404 ? undefined : readHostFacts(answer.text)
  }
  return { ask, origin, snapshot, host, settle: () => edge.followed.catchUp(), close: () => edge.close() }
}

function readAnswer(text: string): Snapshot {
  const lines = text.trimEnd().split('\n').map(readLine)
  const [head, end] = [lines[0], lines.at(-1)]
  if (head?.kind !== 'head' || end?.kind !== 'end') throw new Error(`no whole list: ${text}`)
  assert.equal(end.lines, lines.length - 2)
  return { lines: lines.slice(1, -1), all: head.all, reset: head.reset === true, version: end.version, more: end.more }
}
