/** HTTP client of the control plane for host facts. docs/deploying-sites.md: Data of the sites server. */
import { type Dispatcher, Pool } from 'undici'
import {
  BadSnapshot,
  type FactLine,
  type HostFacts,
  readHostFacts,
  readLine,
  type SnapshotLine,
} from '../../delivery/protocol/snapshot.ts'
import { readWithin } from '../../platform/fairness/read-within.ts'
import { READERS } from '../../readers.ts'
import { textLines } from './text-lines.ts'

type Head = Extract<SnapshotLine, { kind: 'head' }>
export type End = Extract<SnapshotLine, { kind: 'end' }>

export type ControlPlane = {
  /**
   * Requests changes since a version, or everything. Calls `begin` when the response starts; it returns a receiver for the facts.
   * Returns the end of the list, or undefined if nothing changed within `waitS` seconds. Throws if the response fails or is
   * incomplete.
   */
  snapshot(
    since: string | undefined,
    waitS: number,
    stopping: AbortSignal,
    begin: (head: Head) => (lines: FactLine[]) => void,
  ): Promise<End | undefined>
  /** What an own url resolves to; undefined: no deployment has it. Throws where that cannot be had, and BadSnapshot where the answer cannot be read. */
  host(host: string): Promise<HostFacts | undefined>
  /** Returns the deployment of this id. Undefined: it does not exist. Throws if the control plane is unavailable. */
  deployment(id: string): Promise<HostFacts | undefined>
  close(): Promise<void>
}

export const LOOKUPS_AT_ONCE = 16
const CONNECT_MS = 3000
const LOOKUP_MS = 3000
/** In addition to the time for which the control plane waits for a change. */
const ANSWER_MS = 10_000
/** A body that sends nothing for this time is aborted. */
const STALL_MS = 20_000
const { bytes: MAX_OF_HOST } = READERS['line of the control plane']

/** Opens a client of the control plane at `origin`, with BERTH_SITES_TOKEN. */
export function openControlPlane(origin: string, token: string): ControlPlane {
  const pool = new Pool(origin, {
    connections: LOOKUPS_AT_ONCE + 1,
    pipelining: 1,
    connect: { timeout: CONNECT_MS },
    bodyTimeout: STALL_MS,
    keepAliveTimeout: 60_000,
  })
  const headers = { authorization: `Bearer ${token}` }
  const ask = (path: string, headersTimeout: number, signal: AbortSignal | null = null) =>
    pool.request({ method: 'GET', path, headers, headersTimeout, signal })
  const lookUp = async (path: string) => {
    const answer = await ask(path, LOOKUP_MS)
    // 400: it is not a name. Visitors choose names, so this is not a failure of the control plane, which would delay other look-ups.
    if (answer.statusCode === 404 || answer.statusCode === 400) {
      await answer.body.dump()
      return undefined
    }
    return readHostFacts(await readText(await mustBeGood(answer)))
  }
  return {
    async snapshot(since, waitS, stopping, begin) {
      const query = since === undefined ? '' : `?since=${encodeURIComponent(since)}&wait=${waitS}`
      const answer = await ask(`/sites/v1/snapshot${query}`, waitS * 1000 + ANSWER_MS, stopping)
      if (answer.statusCode === 304) {
        await answer.body.dump()
        return undefined
      }
      return readList(await mustBeGood(answer), begin)
    },
    host: (host) => lookUp(`/sites/v1/hosts/${encodeURIComponent(host)}`),
    deployment: (id) => lookUp(`/sites/v1/deployments/${encodeURIComponent(id)}`),
    close: () => pool.destroy(),
  }
}

type Body = Dispatcher.ResponseData['body']

/** Throws the message of an error response. */
async function mustBeGood({ statusCode, body }: Dispatcher.ResponseData): Promise<Body> {
  if (statusCode === 200) return body
  const text = await readText(body)
  throw new Error(`the control plane answered ${statusCode}: ${text.slice(0, 200).trim()}`)
}

async function readText(body: Body): Promise<string> {
  const tooLong = () => new BadSnapshot('The control plane sent a response above the size limit.')
  return (await readWithin(body, MAX_OF_HOST, tooLong)).toString()
}

async function readList(body: Body, begin: (head: Head) => (lines: FactLine[]) => void): Promise<End> {
  let take: ((lines: FactLine[]) => void) | undefined
  let end: End | undefined
  let count = 0
  for await (const texts of textLines(body)) {
    const facts: FactLine[] = []
    for (const { text } of texts) {
      if (end !== undefined) throw new BadSnapshot('The control plane sent something after the end of a list.')
      const line = readLine(text)
      if ((line.kind === 'head') !== (take === undefined))
        throw new BadSnapshot('A list has one head, and begins with it.')
      if (line.kind === 'head') take = begin(line)
      else if (line.kind === 'end') end = line
      else facts.push(line)
    }
    count += facts.length
    take?.(facts)
  }
  if (end === undefined || end.lines !== count) throw new BadSnapshot('The list of the control plane was truncated.')
  return end
}
