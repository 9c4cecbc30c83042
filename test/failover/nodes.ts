/** Three nodes, each with a network namespace and a small disk of its own, joined by a bridge. docs/scaling.md: Failover. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chmodSync, closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The clients are here: Berth, HAProxy, pgbouncer and the drill. */
const HOST = '10.77.0.1'
/** What a long run writes, and the log that a node needs after it was unavailable. */
const DISK_MB = 800

export type Node = { name: string; address: string; folder: string; patroni?: ChildProcess | undefined }

/** Makes the network and the disks. Gives the nodes. */
export function makeNodes(folder: string): Node[] {
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', '/run'])
  run('ip link set lo up')
  run('ip link add nodes type bridge')
  run(`ip address add ${HOST}/24 dev nodes`)
  run('ip link set nodes up')
  return [1, 2, 3].map((number) => {
    const node = { name: `node${number}`, address: `10.77.0.1${number}`, folder: join(folder, `node${number}`) }
    run(`ip netns add ${node.name}`)
    run(`ip link add ${node.name} type veth peer name inner netns ${node.name}`)
    run(`ip link set ${node.name} master nodes up`)
    run(`ip -n ${node.name} link set lo up`)
    run(`ip -n ${node.name} address add ${node.address}/24 dev inner`)
    run(`ip -n ${node.name} link set inner up`)
    mkdirSync(node.folder)
    run(`mount -t tmpfs -o size=${DISK_MB}m,mode=0755 tmpfs ${node.folder}`)
    run(`chown postgres:postgres ${node.folder}`)
    return node
  })
}

/** Starts a program on a node, or next to the clients, as the user of PostgreSQL. What it says goes into `log`. */
export function startAs(words: string[], log: string, node?: Node): ChildProcess {
  const file = openSync(log, 'a')
  chmodSync(log, 0o644)
  const place = node === undefined ? [] : ['ip', 'netns', 'exec', node.name]
  const user = ['setpriv', '--reuid', 'postgres', '--regid', 'postgres', '--clear-groups']
  const [program, ...rest] = [...place, ...user, ...words]
  const env = { PATH: `${process.env.PATH}:/usr/lib/postgresql/15/bin`, LANG: 'C.UTF-8', HOME: node?.folder ?? '/tmp' }
  const child = spawn(program!, rest, { env, stdio: ['ignore', file, file] })
  closeSync(file)
  return child
}

/** Cuts a node off: from all others, or from its `peers` alone. What it says to itself goes on. */
export function cutOff(node: Node, from: 'everybody' | 'peers'): void {
  const rules = ['input', 'output'].flatMap((way) => {
    const [side, device] = way === 'input' ? ['saddr', 'iifname'] : ['daddr', 'oifname']
    const spared = from === 'peers' ? `ip ${side} != ${HOST} ` : ''
    return [
      `add chain inet cut ${way} { type filter hook ${way} priority 0; }`,
      `add rule inet cut ${way} ${device} != lo ${spared}drop`,
    ]
  })
  const text = ['add table inet cut', ...rules].join('\n')
  execFileSync('ip', ['netns', 'exec', node.name, 'nft', '-f', '-'], { input: text })
}

/** Joins a node again. */
export function joinAgain(node: Node): void {
  run(`ip netns exec ${node.name} nft delete table inet cut`)
}

/** The postmaster of a node and all that it started. */
export function postgresOf({ folder }: Node): number[] {
  const pid = Number(readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0])
  return [pid, ...childrenOf(pid)]
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return text === '' ? [] : text.split(' ').map(Number)
}

/** Sends a signal to those of the processes that are still there. */
export function signalAll(pids: number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

/** Words without spaces in them. */
function run(words: string): void {
  const [program, ...rest] = words.split(' ')
  execFileSync(program!, rest, { stdio: ['ignore', 'ignore', 'pipe'] })
}
