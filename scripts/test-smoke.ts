/**
 * `npm run test:smoke`: what a new user does first, against the program as `npm start` runs it, in an empty folder: a story by the newest
 * SDK in package-lock.json, one by the newest command line of scripts/clients.ts, a page in a browser, a clean stop. What the machine lacks
 * is left out with a line. Ends with 1 at the first step that fails. docs/testing.md.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { findChromium, openChromium, openWindow } from '../test/support/clients/chromium.ts'
import { CLIENTS } from './clients.ts'
import { installClient } from './install-client.ts'

const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'berth-smoke-'))
const data = join(folder, 'data')
/** For what hangs; no promise. */
const MAX_MS = 240_000
const INSTALL_MS = 90_000

let service: ChildProcess | undefined
process.on('exit', () => {
  service?.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

const { address, said, ended } = await step('the service starts in an empty folder', start)
const { token } = JSON.parse(readFileSync(join(data, 'credentials.json'), 'utf8')) as { token: string }
await step('a project and a variable by the newest SDK', bySdk)
await step('a project, a variable and a pulled .env by the newest command line', byCommandLine)
await step('the first page in a browser', inBrowser)
await step('it stops cleanly', async () => {
  service!.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null], said())
})

async function step<T>(name: string, run: () => Promise<T> | T): Promise<T> {
  const began = performance.now()
  const late = setTimeout(() => fail(name, new Error(`not done after ${MAX_MS / 1000} s`)), MAX_MS)
  try {
    const result = await run()
    console.log(`smoke: ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)`)
    return result
  } catch (error) {
    return fail(name, error)
  } finally {
    clearTimeout(late)
  }
}

function fail(name: string, error: unknown): never {
  console.error(`smoke: FAILED: ${name}\n`, error)
  process.exit(1)
}

async function start() {
  const env = { ...process.env, BERTH_DATA: data, PORT: '0', BERTH_EDGE_PORT: '0' }
  const child = spawn(process.execPath, [join(root, 'scripts', 'start.mjs')], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  service = child
  let printed = ''
  const ended = new Promise<[number | null, string | null]>((resolve) =>
    child.on('close', (code, signal) => resolve([code, signal])),
  )
  const address = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout!, child.stderr!])
      stream.setEncoding('utf8').on('data', (text: string) => {
        printed += text
        const found = /^berth listening on (\S+)$/m.exec(printed)?.[1]
        if (found !== undefined) resolve(found)
      })
    ended.then(([code]) => reject(new Error(`it ended with ${code}: ${printed}`)))
  })
  return { address, said: () => printed, ended }
}

async function bySdk(): Promise<void> {
  const versions = readdirSync(join(root, 'node_modules')).flatMap((name) => /^sdk-([\d.]+)$/.exec(name)?.[1] ?? [])
  const newest = versions.toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true })).at(-1)
  const { Vercel } = await import(pathToFileURL(join(root, 'node_modules', `sdk-${newest}`, 'esm', 'index.js')).href)
  const sdk = new Vercel({ serverURL: address, bearerToken: token })
  const made = await sdk.projects.createProject({ slug: 'team', requestBody: { name: 'smoke' } })
  const variable = { key: 'GREETING', value: 'hello', type: 'encrypted', target: ['production'] }
  await sdk.projects.createProjectEnv({ idOrName: 'smoke', slug: 'team', requestBody: variable })
  const { envs } = await sdk.projects.filterProjectEnvs({ idOrName: made.id, slug: 'team', decrypt: 'true' })
  assert.deepEqual(
    envs.map((env: { key: string; value: string }) => [env.key, env.value]),
    [['GREETING', 'hello']],
  )
}

function byCommandLine(): void {
  const newest = CLIENTS.filter(({ name }) => name.startsWith('cli-')).at(-1)!
  const cache = join(root, '.cache', 'clients')
  try {
    installClient(cache, newest, INSTALL_MS)
  } catch (error) {
    console.log(`smoke: left out: ${(error as Error).message}`)
    return
  }
  const work = join(folder, 'shop')
  mkdirSync(work)
  const program = join(cache, newest.name, 'node_modules', 'vercel', 'dist', 'vc.js')
  const outside = join(folder, 'outside')
  writeFileSync(outside, '')
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    VERCEL_TELEMETRY_DISABLED: '1',
    NO_UPDATE_NOTIFIER: '1',
    NO_COLOR: '1',
    NODE_OPTIONS: `--import=${join(root, 'test', 'clients', 'loopback-only.ts')}`,
    BERTH_CLIENTS_OUTSIDE: outside,
  }
  const vercel = (input: string, ...words: string[]) => {
    const all = [program, ...words, '--api', address, '--token', token]
    const { status, stderr } = spawnSync(process.execPath, all, { cwd: work, env, input, encoding: 'utf8' })
    assert.equal(status, 0, `vercel ${words.join(' ')}: ${stderr}`)
  }
  vercel('', 'link', '--yes', '--project', 'shop', '--scope', 'team')
  vercel('http://localhost:8080', 'env', 'add', 'API_URL', 'development')
  vercel('', 'env', 'pull', '.env', '--yes')
  assert.match(readFileSync(join(work, '.env'), 'utf8'), /^API_URL="http:\/\/localhost:8080"$/m)
}

async function inBrowser(): Promise<void> {
  const found = findChromium()
  if (found === undefined) {
    console.log('smoke: left out: chromium is not installed')
    return
  }
  const browser = await openChromium(found)
  try {
    const { page, complaints } = await openWindow(browser, 1440)
    await page.goto(`${address}/console`)
    assert.equal(new URL(page.url()).pathname, '/sign-in')
    assert.ok(await page.locator('main button').first().isVisible())
    assert.deepEqual(complaints, [])
  } finally {
    await browser.close()
  }
}
