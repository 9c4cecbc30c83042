/** The ways from Berth to the leader: HAProxy, which asks Patroni; and pgbouncer in front of it. Two Berths on each. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Run } from '../faults/fault.ts'
import { startAndCount } from '../faults/kill.ts'
import { type Ledger, openLedger } from '../faults/ledger.ts'
import { type RunningService, type ServiceHome, startService } from '../support/process.ts'
import { type Cluster, query } from './cluster.ts'
import { type Node, startAs } from './nodes.ts'

const HAPROXY_PORT = 5000
const PGBOUNCER_PORT = 6432
const LOGIN = 'berth:drill'

export type WayName = 'haproxy' | 'pgbouncer'
export type Way = { name: WayName; database: string; home: ServiceHome; instances: RunningService[]; ledger: Ledger }

/** What Berth sets in each session, which pgbouncer does not hand on: docs/scaling.md: PgBouncer. */
const SESSION = {
  statement_timeout: '5s',
  lock_timeout: '2s',
  idle_in_transaction_session_timeout: '10s',
}

/** Starts the proxies, makes a database for each way, and starts two Berths on each. */
export async function openWays(run: Run, folder: string, cluster: Cluster): Promise<Way[]> {
  startHaproxy(folder, cluster.nodes)
  startPgbouncer(folder)
  const leader = await cluster.healed()
  await query(leader, "create role berth login password 'drill'")
  const ways: Way[] = []
  for (const name of ['haproxy', 'pgbouncer'] as const) {
    const database = `berth_${name}`
    await query(leader, `create database ${database} owner berth`)
    if (name === 'pgbouncer') {
      for (const [setting, value] of Object.entries(SESSION))
        await query(leader, `alter role berth in database ${database} set ${setting} = '${value}'`)
    }
    ways.push(await openWay(run, folder, name, database))
  }
  return ways
}

async function openWay(run: Run, folder: string, name: WayName, database: string): Promise<Way> {
  const port = name === 'haproxy' ? HAPROXY_PORT : PGBOUNCER_PORT
  const home = {
    folder: join(folder, name),
    env: {
      BERTH_DATA: join(folder, name),
      DATABASE_URL: `postgres://${LOGIN}@127.0.0.1:${port}/${database}`,
      PORT: '0',
      BERTH_EDGE_PORT: 'off',
      BERTH_RATE_LIMITS: 'off',
      ...(name === 'pgbouncer' && { BERTH_PG_PREPARED: 'off' }),
    },
  }
  const first = await startAndCount(run, home)
  const second = await startService(run, home, { BERTH_LOG_LEVEL: 'error' })
  return { name, database, home, instances: [first, second], ledger: openLedger() }
}

function startHaproxy(folder: string, nodes: Node[]): void {
  const file = join(folder, 'haproxy.cfg')
  const servers = nodes.map(({ name, address }) => `  server ${name} ${address}:5432 check port 8008`)
  writeFileSync(file, `${HAPROXY}${servers.join('\n')}\n`)
  startAs(['haproxy', '-db', '-f', file], join(folder, 'haproxy.log'))
}

/** As docs/scaling.md has it. */
const HAPROXY = `defaults
  mode tcp
  timeout connect 1s
  timeout client 1h
  timeout server 1h
  timeout check 1s
listen leader
  bind 127.0.0.1:${HAPROXY_PORT}
  option httpchk GET /primary
  http-check expect status 200
  default-server inter 300ms fall 2 rise 1 on-marked-down shutdown-sessions
`

function startPgbouncer(folder: string): void {
  const own = join(folder, 'bouncer')
  mkdirSync(own)
  writeFileSync(join(own, 'users'), '"berth" "drill"\n')
  writeFileSync(join(own, 'pgbouncer.ini'), pgbouncerConfig(own))
  startAs(['pgbouncer', join(own, 'pgbouncer.ini')], join(folder, 'pgbouncer.log'))
}

/** As docs/scaling.md has it. */
function pgbouncerConfig(folder: string): string {
  return `[databases]
* = host=127.0.0.1 port=${HAPROXY_PORT}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${PGBOUNCER_PORT}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${folder}/users
pool_mode = transaction
max_client_conn = 200
default_pool_size = 40
server_connect_timeout = 2
server_login_retry = 1
query_wait_timeout = 5
ignore_startup_parameters = ${Object.keys(SESSION).join(',')}
`
}
