/** `berth export`. docs/moving-in.md: Export. */
import assert from 'node:assert/strict'
import { globSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseDotenv } from '../../../src/projects/env-files/dotenv.ts'
import { berth } from '../../support/clients/command.ts'
import { seedProject } from '../../support/projects.ts'
import { ENGINES, openWorld } from '../../support/world.ts'

for (const engine of ENGINES) {
  test(`an account is written as JSON and .env files that only its owner reads [${engine}]`, async (t) => {
    const world = await openWorld(engine)
    t.after(() => world.close())
    const team = `teamId=${world.credentials.teamId}` as const
    for (let at = 0; at < 21; at++) await seedProject(world, `p-${at}`, `?${team}`)
    const post = async (path: string, body: object) => {
      const made = await world.call('POST', `${path}?${team}` as '/v10/projects', body)
      assert.ok(made.status < 300, made.text)
    }
    await post('/v9/projects/p-7/custom-environments', { slug: 'staging' })
    await post('/v10/projects/p-7/env', [
      { key: 'A', value: 'lines\nof "a"', type: 'encrypted', target: ['production', 'preview'] },
      { key: 'A', value: 'of a branch', type: 'encrypted', target: ['preview'], gitBranch: 'feature/x' },
      { key: 'B', value: 'staged', type: 'plain', target: [], customEnvironmentIds: ['staging'] },
      { key: 'C', value: 'hidden', type: 'sensitive', target: ['production'] },
      { key: 'D', value: 'a\r"b"', type: 'plain', target: ['production'] },
    ])
    await post('/v10/projects/p-7/domains', { name: 'www.example.org' })
    await post('/v1/webhooks', { url: 'https://hooks.example.com', events: ['project.created'] })
    const port = new URL(await world.listen()).port
    const env = { BERTH_DATA: world.folder, BERTH_TOKEN: world.credentials.token, PORT: port }
    const folder = join(world.folder, 'out')
    mkdirSync(folder)
    const { code, err } = await berth(['export', folder, '--team', 'team'], env)
    assert.equal(code, 0, err)
    assert.deepEqual(
      err
        .split('\n')
        .filter((line) => line.includes('left out'))
        .sort(),
      [
        'berth: p-7: C is left out of production.env: its value cannot be read',
        'berth: p-7: D is left out of production.env: readers of .env files do not agree about a carriage return',
      ],
    )
    const files = globSync('**/*', { cwd: folder, withFileTypes: true }).filter((entry) => entry.isFile())
    assert.equal(files.length, 1 + 21 + 4)
    for (const { parentPath, name } of files) assert.equal(statSync(join(parentPath, name)).mode & 0o777, 0o600)
    const read = (name: string) => readFileSync(join(folder, 'projects', 'p-7', name), 'utf8')
    const values = (name: string) => parseDotenv(read(name)).entries.map(({ key, value }) => [key, value])
    assert.deepEqual(values('production.env'), [['A', 'lines\nof "a"']])
    assert.match(read('production.env'), /^# C is left out/m)
    assert.deepEqual(values('preview.env'), [['A', 'lines\nof "a"']])
    assert.deepEqual(values('preview@feature%2Fx.env'), [['A', 'of a branch']])
    assert.deepEqual(values('staging.env'), [['B', 'staged']])
    const { project, variables, domains, environments } = JSON.parse(read('project.json'))
    assert.deepEqual([project.name, domains[0].name, environments[0].slug], ['p-7', 'www.example.org', 'staging'])
    assert.deepEqual([variables.length, 'value' in variables[0]], [5, false])
    const account = JSON.parse(readFileSync(join(folder, 'account.json'), 'utf8'))
    assert.deepEqual(
      [account.webhooks.length, account.members.length, JSON.stringify(account).includes('secret')],
      [1, 1, false],
    )
    const again = await berth(['export', folder, '--team', 'team'], env)
    assert.deepEqual([again.code, /is not empty/.test(again.err)], [64, true])
  })
}

test('a project that is removed meanwhile is left out of an export', async (t) => {
  const world = await openWorld('sqlite')
  t.after(() => world.close())
  const answers: Record<string, object> = {
    '/v9/projects': { projects: [{ name: 'gone' }, { name: 'kept' }], pagination: { next: null } },
    '/v9/projects/kept': { id: 'prj_1', name: 'kept' },
    '/v9/projects/kept/env': { envs: [] },
    '/v9/projects/kept/domains': { domains: [] },
  }
  const server = createServer(({ url }, response) => {
    const answer = answers[new URL(url!, 'http://stand-in').pathname]
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer ?? {}))
  }).listen(0, '127.0.0.1')
  t.after(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const folder = join(world.folder, 'out')
  const { code, err } = await berth(['export', folder], {
    BERTH_DATA: world.folder,
    BERTH_TOKEN: world.credentials.token,
    PORT: `${(server.address() as AddressInfo).port}`,
  })
  assert.equal(code, 0, err)
  assert.deepEqual(globSync('projects/*', { cwd: folder }), [join('projects', 'kept')])
})
