/** A Berth of a laptop that builds, and the CLI that deploys folders to it. docs/runner.md. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { connect } from 'node:tls'
import { readConfig } from '../../src/config.ts'
import { tryBuilds } from '../../src/runner/open-runner.ts'
import { eventually } from '../support/eventually.ts'
import { credentialsOf, newHome, startService } from '../support/process.ts'
import { root } from '../support/root.ts'
import { callEdgeAt } from '../support/worlds/edge-world.ts'
import { folderOf } from './ledger.ts'

export type Files = Readonly<Record<string, string | Uint8Array>>

/** Tools of builds are installed once for all runs. */
const CACHE = join(root, '.cache', 'runner')

export function json(value: object): string {
  return JSON.stringify(value)
}

/** Writes a folder named after the project. */
export function folderWith(t: TestContext, files: Files, name = 'page'): string {
  const folder = join(mkdtempSync(join(tmpdir(), 'berth-source-')), name)
  t.after(() => rmSync(dirname(folder), { recursive: true, force: true }))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  return folder
}

/** Starts a service with a runner and a sites server. Where no sandbox has a network, builds run as plain processes. */
export async function startLaptop(t: TestContext, settings: Record<string, string> = {}) {
  mkdirSync(CACHE, { recursive: true })
  chmodSync(CACHE, 0o711)
  const { works } = await tryBuilds(readConfig({ BERTH_RUNNER_CACHE: CACHE }).runner)
  const { NODE_EXTRA_CA_CERTS } = process.env
  const home = await newHome(t, 'sqlite')
  const running = await startService(t, home, {
    ...{ BERTH_BUILDS: works ? 'sandboxed' : 'trusted', BERTH_FUNCTIONS: works ? 'sandboxed' : 'trusted' },
    ...{ BERTH_RUNNER_CACHE: CACHE, BERTH_SITES_PORT: '0' },
    ...(NODE_EXTRA_CA_CERTS && { NODE_EXTRA_CA_CERTS }),
    ...settings,
  })
  const sites = () => /^berth sites listening on (\S+)$/m.exec(running.out())?.[1]
  await eventually(() => sites() !== undefined && running.out().includes('berth runner builds for'), running.out)
  const { token, teamId } = credentialsOf(home)
  const authority = join(home.folder, 'tls', 'authority.pem')
  // The certificate is made for the first connection, and the CLI reads the file at its start.
  await eventually(() => {
    const { hostname: host, port } = new URL(running.address)
    const socket = connect({ host, port: Number(port), rejectUnauthorized: false })
    socket.on('error', () => {}).on('secureConnect', () => socket.destroy())
    return existsSync(authority)
  })
  return {
    ...{ running, token, teamId, isSandboxed: works },
    deploy: (folder: string, version = '64.0.2', words: string[] = []) =>
      deploy(folder, { address: running.address, token, authority }, [programOf(version), ...words]),
    page: (host: string, path = '/', headers: Record<string, string> = {}) =>
      callEdgeAt(sites()!, path, { host, ...headers }),
    sites: () => sites()!,
  }
}

function programOf(version: string): string {
  const dist = join(folderOf(`cli-${version}`), 'vercel', 'dist')
  return existsSync(join(dist, 'vc.js')) ? join(dist, 'vc.js') : join(dist, 'index.js')
}

type Berth = { address: string; token: string; authority: string }

/** Deploys a folder, and returns the host of the deployment and what the CLI printed. 50.18 to 55 speak https alone. */
async function deploy(folder: string, { address, token, authority }: Berth, [program, ...words]: string[]) {
  const settings = join(folder, '..', 'settings')
  mkdirSync(settings, { recursive: true })
  const api = address.replace('http:', 'https:')
  const said = [program!, 'deploy', '--yes', '--token', token, '--api', api, '-Q', settings, ...words]
  const env = {
    ...{ PATH: process.env.PATH, HOME: dirname(folder), NODE_EXTRA_CA_CERTS: authority },
    ...{ VERCEL_TELEMETRY_DISABLED: '1', NO_UPDATE_NOTIFIER: '1' },
  }
  const child = spawn(process.execPath, said, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  assert.equal(child.exitCode, 0, out + err)
  const host = /https:\/\/([\w-]+\.berth\.localhost)/.exec(out)?.[1] ?? assert.fail(out + err)
  return { host, said: out + err }
}
