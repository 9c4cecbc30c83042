/** HAProxy in front of several instances, as an operator puts it there. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../test/support/servers/free-port.ts'

const PATIENCE_MS = 10_000
const ENV = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` }

export function hasHaproxy(): boolean {
  return spawnSync('haproxy', ['-v'], { env: ENV }).status === 0
}

/** Starts it before these instances, each of which takes a request in turn. Its connections to them are kept and shared. */
export async function startHaproxy(
  folder: string,
  origins: readonly string[],
): Promise<{ origin: string; stop(): Promise<void> }> {
  const port = await freePort()
  const file = join(folder, `haproxy-${origins.length}.cfg`)
  const servers = origins.map((origin, at) => `  server berth${at} ${new URL(origin).host} check inter 1s`)
  const lines = [
    'global',
    '  nbthread 1',
    'defaults',
    '  mode http',
    '  timeout connect 5s',
    '  timeout client 30s',
    '  timeout server 30s',
    'listen berth',
    `  bind 127.0.0.1:${port}`,
    '  balance roundrobin',
    '  http-reuse always',
    '  option httpchk GET /readyz',
    ...servers,
    '',
  ]
  writeFileSync(file, lines.join('\n'))
  const child = spawn('haproxy', ['-db', '-f', file], { env: ENV, stdio: 'ignore' })
  const ended = once(child, 'exit')
  const until = performance.now() + PATIENCE_MS
  while (!(await accepts(port))) {
    if (performance.now() > until || child.exitCode !== null) throw new Error('HAProxy did not start')
    await sleep(50)
  }
  return {
    origin: `http://127.0.0.1:${port}`,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
