/** Network namespaces of the test's own: a host with two cards, and an internet next to it. Nothing leaves them. docs/sandbox.md: Network. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Policy } from '../../src/sandbox/policy.ts'
import { canRun, skipReason, WITH_SBIN } from '../support/programs.ts'
import { sandboxSkipReason } from './sandbox-world.ts'

/** The device node is the lab's own, so that the machine's keeps its mode. */
const OPEN_TUN = `mount -t tmpfs -o mode=755 tmpfs /mnt
mknod -m 666 /mnt/tun c 10 200
mount --bind /mnt/tun /dev/net/tun`

const HOST = `${OPEN_TUN}
echo nameserver 10.9.9.53 > /mnt/resolv.conf
mount --bind /mnt/resolv.conf /etc/resolv.conf
for name in 0 1; do ip link add h$name type veth peer name n$name netns "$INTERNET"; done
for name in all default h0 h1; do echo 0 > /proc/sys/net/ipv6/conf/$name/accept_dad; done
echo 0 2147483647 > /proc/sys/net/ipv4/ping_group_range
ip link add docker0 type bridge
for address in 198.51.100.2/24 198.51.100.3/24 2001:db8:1::2/64 2001:db8:1::3/64; do ip addr add $address dev h0; done
for address in 10.9.0.5/24 203.0.113.9/24; do ip addr add $address dev h1; done
ip addr add 172.17.0.1/16 dev docker0
for name in lo h0 h1 docker0; do ip link set $name up; done
ip link add down0 type veth peer name down1
ip addr add 192.88.10.1/24 dev down0
for address in 192.88.9.78/32 2001:db8:9::1/128; do ip addr add $address dev lo; done
ip route add local 192.88.12.0/24 dev lo`

const INTERNET = `for name in all default n0 n1; do echo 0 > /proc/sys/net/ipv6/conf/$name/accept_dad; done
for address in 198.51.100.1/24 198.51.100.7/24 192.88.8.7/24 2001:db8:1::1/64 2001:db8:1::7/64; do ip addr add $address dev n0; done
ip addr add 10.9.0.1/24 dev n1
for address in 192.88.7.7 10.9.9.9 10.9.9.53 169.254.169.254 172.16.7.7 192.168.7.7 100.64.7.7; do ip addr add $address/32 dev lo; done
for address in 2001:db8:2::80 fd12::7 64:ff9b::a09:909 2002:a09:909::1 fd00:ec2::254; do ip addr add $address/128 dev lo; done
for name in lo n0 n1; do ip link set $name up; done`

const ROUTES = 'ip route add default via 198.51.100.1; ip -6 route add default via 2001:db8:1::1'

/** The rules in the lab: all of them, sets that no rule looks at, those of a kernel that maps no UDP ports, or all lines but those with some words. */
export type Rules = 'all' | 'none' | 'resolver' | { without: string }

export type Lab = {
  /** Runs a shell script on the lab's host, without a sandbox. Returns its output. */
  onHost(script: string): string
  /** Runs a shell script in a sandbox on the lab's host. `afterStart`: a script for the host, a second after the start. `isHeld`: it enters a namespace. */
  inSandbox(
    script: string,
    policy?: Partial<Policy>,
    more?: { rules?: Rules; afterStart?: string; isHeld?: boolean },
  ): Promise<{ output: string; code: number | null }>
  /** The words that start a program on the lab's host. */
  words(...program: readonly string[]): string[]
  /** The words that start a program on the lab's internet, which has 192.88.7.7. */
  internetWords(...program: readonly string[]): string[]
  /** What the services of the lab's host wrote down since the last call: each connection and each packet. */
  arrived(): string[]
}

/** Why the lab cannot be made: it needs root, and the programs of the network. */
export function labSkipReason(): string | false {
  if (process.getuid?.() !== 0) {
    const said = 'only root makes network namespaces, so nothing is known of the network of sandboxes'
    if (process.env.BERTH_TEST_PROGRAMS === 'all') throw new Error(said)
    console.error(`SKIPPED: ${said}`)
    return said
  }
  for (const [program, packageName] of [
    ['pasta', 'passt'],
    ['nft', 'nftables'],
    ['ip', 'iproute2'],
  ] as const)
    if (!canRun(program, program === 'ip' ? '-V' : '--version'))
      return skipReason(program, packageName, 'the network of sandboxes')
  return sandboxSkipReason()
}

/** Makes the lab, and ends it with the test. `isOnline`: the network of this machine, with an open device of its own. */
export async function openLab(t: TestContext, isOnline = false): Promise<Lab> {
  const end = (child: ChildProcess) => t.after(() => child.kill('SIGKILL'))
  const hold = async (...words: string[]) => {
    const holder = spawn('unshare', [...words, 'sh', '-c', 'echo ready; exec cat'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    end(holder)
    await once(holder.stdout!, 'data')
    return holder.pid!
  }
  const host = await hold('--mount', '--propagation', 'private', ...(isOnline ? [] : ['--net']))
  const words = (...program: readonly string[]) => ['nsenter', '-t', String(host), '-m', '-n', '--', ...program]
  if (isOnline) sh(words(), OPEN_TUN)
  const log: string[] = []
  let beside: string[] = []
  if (!isOnline) {
    const internet = await hold('--net')
    beside = ['nsenter', '-t', String(internet), '-n', '--']
    sh(words(), HOST, { INTERNET: String(internet) })
    sh(beside, INTERNET)
    sh(words(), ROUTES)
    for (const [prefix, name] of [
      [words(), 'host'],
      [beside, 'internet'],
    ] as const) {
      const [program, ...rest] = [...prefix, process.execPath, join(import.meta.dirname, 'lab-services.ts'), name]
      const services = spawn(program!, rest, { stdio: ['ignore', 'pipe', 'inherit'] })
      end(services)
      await once(services.stdout!, 'data')
      if (name === 'host') services.stdout!.on('data', (data) => log.push(...String(data).trim().split('\n')))
    }
  }
  return {
    words,
    onHost: (script) => sh(words(), script),
    internetWords: (...program) => [...beside, ...program],
    arrived: () => log.splice(0),
    async inSandbox(script, policy = {}, more = {}) {
      const request = JSON.stringify({ script, policy: { network: 'internet', ...policy }, rules: 'all', ...more })
      const [program, ...rest] = words(process.execPath, join(import.meta.dirname, 'in-lab.ts'), request)
      const child = spawn(program!, rest, { stdio: ['ignore', 'pipe', 'inherit'] })
      let text = ''
      child.stdout.on('data', (data) => {
        text += data
      })
      await once(child, 'close')
      return JSON.parse(text)
    },
  }
}

function sh(prefix: readonly string[], script: string, env: Record<string, string> = {}): string {
  const [program, ...words] = [...prefix, 'sh', '-ec', script]
  const { status, stdout, stderr } = spawnSync(program!, words, {
    encoding: 'utf8',
    env: { PATH: `/usr/bin:/bin:${WITH_SBIN}`, ...env },
  })
  assert.equal(status, 0, `${script}\n${stderr}`)
  return stdout
}
