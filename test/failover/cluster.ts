/** Three PostgreSQL under Patroni, which keeps in etcd who leads. docs/scaling.md: Failover. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { makeNodes, type Node, startAs } from './nodes.ts'

const SCOPE = 'berth'
const PASSWORD = 'drill'
const ASK_MS = 500

export type Cluster = {
  nodes: Node[]
  /** The name of the node that leads according to etcd, and the key that says it; undefined without a leader. */
  leader(): Promise<string | undefined>
  /** Waits until one leads that is not `before`. Returns the node and the time. */
  newLeader(before: string): Promise<{ node: Node; at: number }>
  /** Waits until the leader has two standbys that stream, one of them synchronous and next to lead where replication is synchronous. */
  healed(): Promise<Node>
  startPatroni(node: Node): void
  /** Asks Patroni to let another node lead. */
  switchOver(from: Node): Promise<void>
  /** Whether a commit waits for a standby. It does at first. */
  setSynchronous(on: boolean): Promise<void>
}

/** The address of a database on a node. */
export function urlOn({ address }: Node, database: string): string {
  return `postgres://postgres:${PASSWORD}@${address}:5432/${database}`
}

/** Starts etcd and Patroni on three nodes, and waits until two standbys stream. */
export async function startCluster(folder: string): Promise<Cluster> {
  const nodes = makeNodes(folder)
  for (const node of nodes) startEtcd(node, nodes)
  for (const node of nodes) writeFileSync(configOf(node), JSON.stringify(patroniConfig(node, nodes)))
  const startPatroni = (node: Node) => {
    node.patroni = startAs(['/usr/bin/python3', '/usr/bin/patroni', configOf(node)], `${node.folder}.patroni.log`, node)
  }
  await within(30_000, 'etcd has a leader', async () => (await fromEtcd(nodes, 'keys/')) !== undefined)
  for (const node of nodes) startPatroni(node)
  const leader = async () => (await fromEtcd(nodes, `keys/service/${SCOPE}/leader`))?.node?.value
  let synchronous = true
  const named = (name: string | undefined) => nodes.find((node) => node.name === name)
  const cluster: Cluster = {
    nodes,
    leader,
    newLeader: async (before) => {
      const node = await within(60_000, `another node leads than ${before}`, async () => {
        const name = await leader()
        return name === before ? undefined : named(name)
      })
      return { node, at: performance.now() }
    },
    healed: () =>
      within(120_000, 'the leader has two standbys', async () => {
        const node = named(await leader())
        if (node === undefined || !(await hasStandbys(node, synchronous))) return undefined
        return !synchronous || (await nextLeader(nodes, node)) !== undefined ? node : undefined
      }),
    startPatroni,
    switchOver: async (from) => {
      const words = ['-c', configOf(from), 'switchover', SCOPE, '--leader', from.name, '--force']
      await promisify(execFile)('/usr/bin/python3', ['/usr/bin/patronictl', ...words])
    },
    setSynchronous: async (on) => {
      const { address } = await cluster.healed()
      const body = JSON.stringify({ synchronous_mode: on })
      const said = await fetch(`http://${address}:8008/config`, { method: 'PATCH', body })
      if (!said.ok) throw new Error(`Patroni takes no settings: ${await said.text()}`)
      synchronous = on
    },
  }
  await cluster.healed()
  return cluster
}

/** Asks again and again until there is something. Throws after so many ms. */
export async function within<T>(ms: number, what: string, ask: () => Promise<T | undefined | false>): Promise<T> {
  const until = performance.now() + ms
  for (;;) {
    const found = await ask()
    if (found !== undefined && found !== false) return found
    if (performance.now() > until) throw new Error(`not in ${ms / 1000} s: ${what}`)
    await sleep(50)
  }
}

/** One statement on a node, past the proxies. */
export async function query(node: Node, text: string, database = 'postgres'): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: urlOn(node, database), connectionTimeoutMillis: 5000 })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end().catch(() => {})
  }
}

function configOf(node: Node): string {
  return `${node.folder}.patroni.json`
}

function startEtcd(node: Node, nodes: Node[]): void {
  const peers = nodes.map(({ name, address }) => `${name}=http://${address}:2380`).join(',')
  const at = (port: number) => `http://${node.address}:${port}`
  const options = {
    name: node.name,
    'data-dir': join(node.folder, 'etcd'),
    'listen-peer-urls': at(2380),
    'initial-advertise-peer-urls': at(2380),
    'listen-client-urls': at(2379),
    'advertise-client-urls': at(2379),
    'initial-cluster': peers,
    'initial-cluster-state': 'new',
    'enable-v2': 'true',
    // Else a member that comes back makes the others vote again, and Patroni loses its leader once more.
    'pre-vote': 'true',
  }
  const words = Object.entries(options).map(([name, value]) => `--${name}=${value}`)
  startAs(['etcd', ...words], `${node.folder}.etcd.log`, node)
}

function patroniConfig({ name, address, folder }: Node, nodes: Node[]): object {
  return {
    scope: SCOPE,
    name,
    restapi: { listen: `${address}:8008`, connect_address: `${address}:8008` },
    etcd: { hosts: nodes.map((node) => `${node.address}:2379`) },
    bootstrap: {
      dcs: {
        ttl: 5,
        loop_wait: 1,
        retry_timeout: 2,
        master_start_timeout: 0,
        synchronous_mode: true,
        postgresql: {
          use_pg_rewind: true,
          parameters: {
            max_connections: 200,
            shared_buffers: '32MB',
            wal_keep_size: '48MB',
            max_wal_size: '64MB',
            min_wal_size: '2MB',
          },
        },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, { 'wal-segsize': '1' }, 'data-checksums'],
    },
    postgresql: {
      listen: `${address}:5432`,
      connect_address: `${address}:5432`,
      data_dir: join(folder, 'data'),
      bin_dir: '/usr/lib/postgresql/15/bin',
      pgpass: join(folder, 'pgpass'),
      authentication: {
        superuser: { username: 'postgres', password: PASSWORD },
        replication: { username: 'replicator', password: PASSWORD },
      },
      pg_hba: ['host all all 0.0.0.0/0 scram-sha-256', 'host replication all 0.0.0.0/0 scram-sha-256'],
      parameters: { unix_socket_directories: folder },
      remove_data_directory_on_rewind_failure: true,
      remove_data_directory_on_diverged_timelines: true,
    },
  }
}

// biome-ignore lint/suspicious/noExplicitAny: an answer is whatever etcd said
type Told = any

/** What the first node that answers says: one that is cut off or has no leader does not. */
async function fromEtcd(nodes: Node[], path: string): Promise<Told> {
  const asked = nodes.map(async ({ address }) => {
    const url = `http://${address}:2379/v2/${path}${path.endsWith('/') ? '' : '?quorum=true'}`
    const said = await fetch(url, { signal: AbortSignal.timeout(ASK_MS) })
    if (said.status >= 500) throw new Error(`etcd answers ${said.status}`)
    return said.json()
  })
  return Promise.any(asked).catch(() => undefined)
}

/**
 * The standby that etcd says may lead after the leader. PostgreSQL reports a synchronous standby slightly earlier: a leader that is killed between
 * the two has no successor.
 */
async function nextLeader(nodes: Node[], { name }: Node): Promise<string | undefined> {
  const said = (await fromEtcd(nodes, `keys/service/${SCOPE}/sync`))?.node?.value
  if (said === undefined) return undefined
  const { leader, sync_standby } = JSON.parse(said) as { leader: string; sync_standby: string | null }
  return leader === name ? (sync_standby ?? undefined) : undefined
}

async function hasStandbys({ address }: Node, synchronous: boolean): Promise<boolean> {
  try {
    const said = await fetch(`http://${address}:8008/patroni`, { signal: AbortSignal.timeout(2 * ASK_MS) })
    const { role, replication = [] } = (await said.json()) as Told
    const streaming = replication.filter(({ state }: Told) => state === 'streaming')
    const isSynchronous = streaming.some(({ sync_state }: Told) => sync_state === 'sync')
    return /^(master|primary)$/.test(role) && streaming.length === 2 && isSynchronous === synchronous
  } catch {
    return false
  }
}
