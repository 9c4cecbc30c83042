/** Sites servers for tests. */
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import { readConfig } from '../../../src/config.ts'
import { logOptions } from '../../../src/platform/base/log.ts'
import { openSitesServer } from '../../../src/sites/visitors/sites-server.ts'
import { eventually } from '../../support/eventually.ts'
import { callEdgeAt, type EdgeReply } from '../../support/worlds/edge-world.ts'
import { SITES_TOKEN } from '../../support/worlds/sites-world.ts'
import { type Offered, openControlPlane, SITE } from './control-plane.ts'

export type Site = {
  origin: string
  /** Asks as a visitor of a host. */
  visit(host: string, path?: string, headers?: Record<string, string>, method?: string): Promise<EdgeReply>
  logged(): string
  stop(): Promise<void>
}

/** What a sites server is opened with: the addresses that rewrites may proxy to, public ones where it is not said, and how functions run. */
type Options = NonNullable<Parameters<typeof openSitesServer>[1]>

/** Sites servers in a folder that stays from one start to the next. */
export function openSitesServers(
  t: TestContext,
  settings: Record<string, string> = {},
  canReach?: (address: string) => boolean,
  functions?: Options['functions'],
  pictures?: Options['pictures'],
) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-visitors-'))
  const open = new Set<() => Promise<void>>()
  t.after(async () => {
    for (const stop of open) await stop()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    folder,
    async start(controlPlane: string): Promise<Site> {
      const config = readConfig({
        BERTH_DATA: folder,
        BERTH_SITES_TOKEN: SITES_TOKEN,
        BERTH_SITES_CONTROL_PLANE: controlPlane,
        BERTH_DNS_SERVERS: '127.0.0.1:1',
        ...settings,
      })
      const lines: string[] = []
      const log = pino(logOptions('debug'), { write: (line: string) => void lines.push(line) })
      const server = await openSitesServer({ config, log }, { ...(canReach && { canReach }), functions, pictures })
      const origin = await server.listen('127.0.0.1', 0)
      const stop = async () => {
        if (open.delete(stop)) await server.close()
      }
      open.add(stop)
      const visit: Site['visit'] = (host, path = '/', headers = {}, method = 'GET') =>
        callEdgeAt(origin, path, { host, ...headers }, method)
      return { origin, visit, logged: () => lines.join(''), stop }
    },
  }
}

/** A sites server of a control plane of the test's own, once it shows the site. */
export async function showSite(
  t: TestContext,
  offered: Offered,
  settings: Record<string, string> = {},
  canReach?: (address: string) => boolean,
  functions?: Options['functions'],
  pictures?: Options['pictures'],
) {
  const control = await openControlPlane(t, offered)
  const site = await openSitesServers(t, settings, canReach, functions, pictures).start(control.origin)
  const { host = SITE } = offered
  await eventually(async () => (await site.visit(host, '/')).headers['x-vercel-error'] !== 'DOMAIN_NOT_FOUND')
  return { ...site, site, control }
}

/** Sends bytes as they are, and gives all that comes until the other side ends. */
export function sendRaw(t: TestContext, origin: string, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1', () => socket.write(bytes))
    t.after(() => socket.destroy())
    let heard = ''
    socket.setEncoding('latin1').on('data', (text) => {
      heard += text
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(heard))
  })
}
