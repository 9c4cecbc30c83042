/** HAProxy in front of several instances, as an operator puts it there. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../test/support/servers/free-port.ts'
import { type Server, startProgram } from './children.ts'

const ENV = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` }

export function hasHaproxy(): boolean {
  return spawnSync('haproxy', ['-v'], { env: ENV }).status === 0
}

/** Starts it before these instances, round-robin. Its connections to them are kept and shared. */
export async function startHaproxy(folder: string, origins: readonly string[]): Promise<Server> {
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
  return startProgram(['haproxy', '-db', '-f', file], ENV, port)
}
