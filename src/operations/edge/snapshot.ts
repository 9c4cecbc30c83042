/** Snapshots of all hosts, for agents and HAProxy maps. Built on request and cached until a change. */
import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { requiresAdmission } from '../../platform/verdict/admission.ts'
import type { HostEntry } from '../../platform/verdict/hosts.ts'
import type { SyncedHosts } from './index-sync.ts'
import { dialAddress, upstreamOf } from './responses.ts'

export type Snapshot = { body: string; etag: string; contentType: string }
export type SnapshotForm = 'json' | 'state' | 'hosts' | 'redirects'

/** Hosts formatted before yielding. */
const SLICE = 1000

/** Creates snapshots, sorted by host, so that equal states have equal tags. */
export function createSnapshots(
  followed: SyncedHosts,
  sitesAddress: string | undefined,
): (form: SnapshotForm) => Promise<Snapshot> {
  const snapshots = new Map<SnapshotForm, { version: number; snapshot: Promise<Snapshot> }>()
  return (form) => {
    const version = followed.version()
    const cached = snapshots.get(form)
    if (cached?.version === version) return cached.snapshot
    const fresh = make(followed, form, sitesAddress)
    snapshots.set(form, { version, snapshot: fresh })
    fresh.catch(() => snapshots.delete(form))
    return fresh
  }
}

async function make(followed: SyncedHosts, form: SnapshotForm, sitesAddress: string | undefined): Promise<Snapshot> {
  const hosts = followed.hosts()
  const names = [...hosts.all()].sort()
  const lines: string[] = []
  for (const [at, name] of names.entries()) {
    const entry = hosts.find(name)
    const line = form === 'json' ? jsonOf(name, entry, sitesAddress) : mapLineOf(form, name, entry, sitesAddress)
    if (line !== undefined) lines.push(line)
    if (at % SLICE === SLICE - 1) await nextTurn()
  }
  const body = form === 'json' ? `{"hosts":[${lines.join(',\n')}]}\n` : lines.map((line) => `${line}\n`).join('')
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
  return { body, etag, contentType: form === 'json' ? 'application/json; charset=utf-8' : 'text/plain; charset=utf-8' }
}

/** The states of `check`; unlisted hosts are `unknown`. */
function jsonOf(host: string, { serving, guard }: HostEntry, sitesAddress: string | undefined): string {
  if (serving.kind !== 'live') {
    const { kind: state, ...more } = serving
    return JSON.stringify({ host, state, ...more })
  }
  const { kind: state, projectId, deploymentId } = serving
  const upstream = upstreamOf(serving, sitesAddress)
  return JSON.stringify({
    host,
    state,
    projectId,
    deploymentId,
    upstream,
    ...(requiresAdmission(guard) && { protected: true }),
  })
}

/** A line of a map: `state` for every host, `hosts` with the address of live ones, `redirects` with the new origin. */
function mapLineOf(
  form: Exclude<SnapshotForm, 'json'>,
  host: string,
  { serving, guard }: HostEntry,
  sitesAddress: string | undefined,
): string | undefined {
  if (form === 'state') {
    if (serving.kind === 'redirect') return `${host} redirect-${serving.status}`
    return `${host} ${serving.kind === 'live' && requiresAdmission(guard) ? 'protected' : serving.kind}`
  }
  if (form === 'redirects') return serving.kind === 'redirect' ? `${host} ${serving.location}` : undefined
  const upstream = serving.kind === 'live' ? upstreamOf(serving, sitesAddress) : null
  if (upstream === null) return undefined
  return `${host} ${upstream.startsWith('https:') ? 'https' : 'http'}/${dialAddress(upstream)}`
}
