/** File servers for comparison with a sites server: the same folder, with their default behavior. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { WITH_SBIN } from '../../../test/support/programs.ts'
import { freePort } from '../../../test/support/servers/free-port.ts'
import { type Server, startProgram } from '../children.ts'

const ENV = { ...process.env, PATH: WITH_SBIN }

/** Whether the machine has a program. */
export function has(program: string): boolean {
  return spawnSync('which', [program], { env: ENV }).status === 0
}

/** Starts Caddy's `file_server` over a folder, without an access log. `folder`: where its settings go. */
export async function startCaddy(folder: string, files: string): Promise<Server> {
  const port = await freePort()
  const file = join(folder, 'Caddyfile')
  const settings = ['{', '  admin off', '  auto_https off', '}']
  // Any host: the load names that of a site.
  const site = [`:${port} {`, '  bind 127.0.0.1', `  root * ${files}`, '  file_server', '}']
  writeFileSync(file, [...settings, ...site, ''].join('\n'))
  const env = { ...ENV, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  return startProgram(['caddy', 'run', '--config', file, '--adapter', 'caddyfile'], env, port)
}

/** Starts nginx over a folder: one process, without an access log. `folder`: where its settings go. */
export async function startNginx(folder: string, files: string): Promise<Server> {
  const port = await freePort()
  const file = join(folder, 'nginx.conf')
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((one) => `  ${one}_temp_path ${folder};`)
  const lines = [
    'daemon off;',
    'master_process off;',
    `pid ${join(folder, 'nginx.pid')};`,
    'events {}',
    'http {',
    '  access_log off;',
    '  sendfile on;',
    '  keepalive_requests 1000000;',
    ...places,
    `  server { listen 127.0.0.1:${port}; root ${files}; }`,
    '}',
    '',
  ]
  writeFileSync(file, lines.join('\n'))
  return startProgram(['nginx', '-e', 'stderr', '-c', file], ENV, port)
}
