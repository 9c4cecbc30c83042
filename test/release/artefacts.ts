/** Artefacts of a release, made once for the file that asks, and what each of them must do. docs/releasing.md. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { ARM64_PACKAGES, arm64Place } from '../../scripts/release/libraries.ts'
import { openControlPlane, SITE } from '../sites/visitors/control-plane.ts'
import { eventually } from '../support/eventually.ts'
import {
  callerAt,
  credentialsOf,
  type RunningService,
  type ServiceHome,
  startService,
  startSites,
} from '../support/process.ts'
import { skipReason } from '../support/programs.ts'
import { startOtlpReceiver } from '../support/servers/otlp-receiver.ts'
import { newDatabase } from '../support/world.ts'
import { callEdgeAt } from '../support/worlds/edge-world.ts'

export const VERSION = '0.0.0-test'
export const SOURCE = { version: VERSION, commit: 'a'.repeat(40), moment: '2026-01-01T00:00:00+00:00' }

/** Why the image cannot be made here; false where it can. Throws as `lacking` does. */
export function whyNoArm64(): string | false {
  try {
    arm64Place()
    return false
  } catch {
    return skipReason('what the image for arm64 holds', ARM64_PACKAGES, 'the release')
  }
}

/** How a program is started: its words, where, and with which environment. `seen`: a folder of this machine as the program names it. `look`: looks at the process that serves. */
export type Artefact = {
  words: string[]
  folder: string
  env: Record<string, string>
  seen?: (folder: string) => string
  look?: (pid: number) => void
}

const PASSWORD = 'correct horse battery'
const SECRET = 'a value that is sealed'

/** The main job, from the artefact alone: the first project, a page of the console, a backup, its restore into PostgreSQL, traces, and SIGTERM. */
export async function mustDoItsJob(t: TestContext, artefact: Artefact): Promise<void> {
  const { folder, words, env, seen = (path) => path, look } = artefact
  const data = join(folder, 'data')
  const own = { BERTH_DATA: seen(data), PORT: '0', BERTH_EDGE_PORT: '0', BERTH_SITES_PORT: 'off', ...env }
  const home: ServiceHome = { folder: data, cwd: folder, env: own }
  const said = (...more: string[]) => saidBy(artefact, own, more)

  // On stderr the runtime would say that it did not take the compiled code.
  assert.deepEqual(await said('--version'), { code: 0, out: `${VERSION}\n`, err: '' })
  assert.match((await said('completion', 'bash')).out, /complete .*berth/)
  const receiver = await startOtlpReceiver(t)
  const running = await startService(t, home, { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint }, words)
  look?.(running.child.pid!)
  await mustServe(running, home)
  const here = { ...own, PORT: new URL(running.address).port }
  assert.equal((await saidBy(artefact, here, ['ready'])).out, 'ready\n')
  assert.match((await saidBy(artefact, here, ['welcome'])).err, /used or replaced/)
  assert.match((await saidBy(artefact, here, ['doctor'])).out, /keyring/)
  const copies = join(data, 'copies')
  const made = await saidBy(artefact, here, ['backup', `${seen(copies)}/`])
  assert.equal(made.code, 0, made.err)
  assert.equal(await running.kill('SIGTERM'), 0)
  assert.ok(receiver.spans.some(({ name }) => name === 'POST /v10/projects'))
  assert.equal((await said('ready')).code, 1)

  const [copy] = globSync('*.db', { cwd: copies })
  const moved = { DATABASE_URL: await newDatabase() }
  const restored = await saidBy(artefact, { ...own, ...moved }, ['restore', `${seen(copies)}/${copy}`])
  assert.equal(restored.code, 0, restored.err)
  const again = await startService(t, home, moved, words)
  const call = callerAt(again, credentialsOf(home).token)
  const { body } = await call('GET', '/v10/projects/hello/env?slug=team&decrypt=true')
  assert.deepEqual(
    (body as { envs: { value: string }[] }).envs.map(({ value }) => value),
    [SECRET],
  )
  assert.equal(await again.kill('SIGTERM'), 0)
  await mustShowSites(t, artefact)
}

/** A page by a rule of the site, which a worker thread finds. */
async function mustShowSites(t: TestContext, { folder, words, env, seen = (path) => path }: Artefact): Promise<void> {
  const config = { routes: [{ src: '/(?<name>\\w+)/page', dest: '/$name.html' }] }
  const control = await openControlPlane(t, { config, contents: { 'static/hello.html': 'hello' } })
  const data = join(folder, 'sites')
  const own = { BERTH_DATA: seen(data), BERTH_SITES_TOKEN: 'x'.repeat(20), BERTH_SITES_CONTROL_PLANE: control.origin }
  const sites = await startSites(t, { folder: data, cwd: folder, env: { ...own, ...env } }, {}, words)
  await eventually(async () => (await callEdgeAt(sites.address, '/hello/page', { host: SITE })).text === 'hello')
  assert.equal(await sites.kill('SIGTERM'), 0)
}

async function mustServe(running: RunningService, home: ServiceHome): Promise<void> {
  const { address } = running
  const call = callerAt(running, credentialsOf(home).token)
  assert.equal((await call('POST', '/v10/projects?slug=team', { name: 'hello' })).status, 200)
  const variable = { key: 'SECRET', value: SECRET, type: 'encrypted', target: ['production'] }
  assert.equal((await call('POST', '/v10/projects/hello/env?slug=team', variable)).status, 201)
  const page = await consolePage(address, credentialsOf(home).welcome)
  const assets = [...page.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path]) => path!)
  assert.ok(page.includes('hello') && assets.length > 1, page)
  for (const path of [...assets, '/docs', '/openapi.json']) {
    const answer = await fetch(address + path)
    assert.equal(answer.status, 200, path)
    assert.ok((await answer.text()).length > 500, path)
  }
}

/** The projects of the first team in the console, as the first user sees them who follows the link of the first start. */
async function consolePage(address: string, welcome: string): Promise<string> {
  const cookies = new Map<string, string>()
  const ask = async (path: string, body?: URLSearchParams) => {
    const headers = { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') }
    const posted = body && { method: 'POST', body }
    const answer = await fetch(address + path, { redirect: 'manual', headers, ...posted })
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    return { status: answer.status, text: await answer.text() }
  }
  const form = /name="form" value="([^"]+)"/.exec((await ask(welcome)).text)?.[1] ?? ''
  const chosen = await ask(welcome, new URLSearchParams({ form, password: PASSWORD, again: PASSWORD }))
  assert.equal(chosen.status, 303, chosen.text)
  return (await ask('/console/t/team')).text
}

/** What the program said to its end. */
async function saidBy({ words, folder }: Artefact, env: Record<string, string>, more: string[]) {
  const child = spawn(words[0]!, [...words.slice(1), ...more], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  child.stdout.on('data', (piece) => {
    out += piece
  })
  child.stderr.on('data', (piece) => {
    err += piece
  })
  const [code] = await once(child, 'close')
  return { code, out, err }
}
