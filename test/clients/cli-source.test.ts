/** Source to page: the CLI deploys a folder to a Berth of a laptop, which builds it with a runner of its own and shows the page. docs/runner.md. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { tryBuilds } from '../../src/runner/open-runner.ts'
import { eventually } from '../support/eventually.ts'
import { credentialsOf, newHome, startService } from '../support/process.ts'
import { root } from '../support/root.ts'
import { callEdgeAt } from '../support/worlds/edge-world.ts'
import { folderOf } from './ledger.ts'

const HTML = { 'index.html': '<h1>hello</h1>\n' }
const VITE = {
  'package.json': JSON.stringify({
    name: 'page',
    private: true,
    type: 'module',
    scripts: { build: 'vite build' },
    devDependencies: { vite: '7.3.8' },
  }),
  'index.html': '<!doctype html><title>vite</title><script type="module" src="/main.js"></script>',
  'main.js': 'document.title = "built"\n',
}
/** Tools of builds are installed once for all runs. */
const CACHE = join(root, '.cache', 'runner')
const CLI = join(folderOf('cli-64.0.2'), 'vercel', 'dist', 'vc.js')

function folderWith(t: { after(work: () => void): void }, files: Record<string, string>): string {
  const folder = join(mkdtempSync(join(tmpdir(), 'berth-source-')), 'page')
  t.after(() => rmSync(dirname(folder), { recursive: true, force: true }))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  return folder
}

async function deploy(folder: string, address: string, token: string): Promise<string> {
  const settings = join(folder, '..', 'settings')
  const words = [CLI, 'deploy', '--yes', '--token', token, '--api', address, '-Q', settings]
  const env = { PATH: process.env.PATH, HOME: dirname(folder), VERCEL_TELEMETRY_DISABLED: '1', NO_UPDATE_NOTIFIER: '1' }
  mkdirSync(settings)
  const child = spawn(process.execPath, words, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  assert.equal(child.exitCode, 0, out + err)
  return /https:\/\/([\w-]+\.berth\.localhost)/.exec(out)?.[1] ?? assert.fail(out + err)
}

for (const [name, files, expected] of [
  ['plain HTML', HTML, /^<h1>hello<\/h1>$/m],
  ['a project with an npm package', VITE, /assets\/index-[\w-]+\.js/],
] as const)
  test(`${name} is deployed from source and shown`, { timeout: 1_800_000 }, async (t) => {
    mkdirSync(CACHE, { recursive: true })
    chmodSync(CACHE, 0o711)
    // Where no sandbox has a network, the rest of the way is driven all the same.
    const { works } = await tryBuilds(readConfig({ BERTH_RUNNER_CACHE: CACHE }).runner)
    const settings = {
      ...{ BERTH_BUILDS: works ? 'sandboxed' : 'trusted', BERTH_RUNNER_CACHE: CACHE, BERTH_SITES_PORT: '0' },
      ...(process.env.NODE_EXTRA_CA_CERTS && { NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS }),
    }
    const home = await newHome(t, 'sqlite')
    const running = await startService(t, home, settings)
    const sites = () => /^berth sites listening on (\S+)$/m.exec(running.out())?.[1]
    await eventually(() => sites() !== undefined && running.out().includes('berth runner builds for'), running.out)
    const host = await deploy(folderWith(t, files), running.address, credentialsOf(home).token)
    const page = await callEdgeAt(sites()!, '/', { host })
    assert.equal(page.status, 200)
    assert.match(page.text, expected)
    assert.equal(await running.kill('SIGTERM'), 0)
  })
