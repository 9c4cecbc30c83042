/** `berth import` from a server that is not Berth: an emulator of the same API, installed on demand. docs/moving-in.md. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { berth } from '../support/clients/command.ts'
import { onBothEngines } from '../support/world.ts'

type Emulator = { url: string; close(): Promise<void> }
type Module = { createEmulator(options: { service: string; port: number }): Promise<Emulator> }

const folder = join(process.env.BERTH_CLIENTS!, 'import-emulate-0.12.2')
const file = join(folder, 'node_modules', 'emulate', 'dist', 'api.js')
/** The emulator comes with this token. */
const TOKEN = 'test_token_admin'

onBothEngines('projects, variables and domains of an emulator of the API are copied', async (world, t) => {
  const { createEmulator } = (await import(pathToFileURL(file).href)) as Module
  const emulator = await createEmulator({ service: 'vercel', port: 0 })
  t.after(() => emulator.close())
  const origin = emulator.url.replace('localhost', '127.0.0.1')
  const make = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
    const answer = await fetch(`${origin}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    assert.ok(answer.ok, await answer.text())
  }
  for (let at = 0; at < 25; at++) await make('/v11/projects', { name: `web-${at}`, framework: 'nextjs' })
  const variables = [
    { key: 'PLAIN', value: 'in clear', type: 'plain', target: ['production'] },
    { key: 'SEALED', value: 'secret', type: 'encrypted', target: ['preview'], gitBranch: 'next' },
    { key: 'HIDDEN', value: 'nobody reads this', type: 'sensitive', target: ['production'] },
  ]
  await make('/v10/projects/web-7/env', variables)
  await make('/v10/projects/web-7/domains', { name: 'www.example.org' })

  const env = {
    BERTH_DATA: world.folder,
    BERTH_TOKEN: world.credentials.token,
    PORT: new URL(await world.listen()).port,
  }
  const words = ['import', '--from', origin, '--token', TOKEN, '--yes', '--json']
  const { code, out, err } = await berth(words, env)
  assert.equal(code, 0, err)
  const { counts, failed, todo } = JSON.parse(out)
  assert.deepEqual([counts.project.created, counts.variable.created, counts.domain.created], [25, 2, 1])
  assert.deepEqual(failed, [])
  assert.match(todo.join('\n'), /web-7: set the value of HIDDEN \(production\), which cannot be read there/)
  const { body: project } = await world.call('GET', '/v9/projects/web-7')
  assert.equal(project.framework, 'nextjs')
  const { body: listed } = await world.call('GET', '/v9/projects/web-7/env?decrypt=true')
  const seen = listed.envs.map(({ key, value, gitBranch }) => [key, value, gitBranch])
  assert.deepEqual(seen.sort(), [
    ['PLAIN', 'in clear', undefined],
    ['SEALED', 'secret', 'next'],
  ])
  const again = JSON.parse((await berth(words, env)).out).counts
  const written = Object.values(again as typeof counts).flatMap((one) => {
    const { created, changed } = one as { created: number; changed: number }
    return [created, changed]
  })
  assert.deepEqual(
    written.filter((count) => count > 0),
    [],
  )
})
