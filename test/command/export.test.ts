/** `berth export`. docs/moving-in.md: Moving out. */
import assert from 'node:assert/strict'
import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseDotenv } from '../../src/env-files/dotenv.ts'
import { berth } from '../support/clients/command.ts'
import { makeProject } from '../support/projects.ts'
import { ENGINES, openWorld } from '../support/world.ts'

for (const engine of ENGINES) {
  test(`an account is written as JSON and .env files that only its owner reads [${engine}]`, async (t) => {
    const world = await openWorld(engine)
    t.after(() => world.close())
    const team = `teamId=${world.credentials.teamId}` as const
    for (let at = 0; at < 21; at++) await makeProject(world, `p-${at}`, `?${team}`)
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
    ])
    await post('/v10/projects/p-7/domains', { name: 'www.example.org' })
    await post('/v1/webhooks', { url: 'https://hooks.example.com', events: ['project.created'] })
    const port = new URL(await world.listen()).port
    const env = { BERTH_DATA: world.folder, BERTH_TOKEN: world.credentials.token, PORT: port }
    const folder = join(world.folder, 'out')
    const { code, err } = await berth(['export', folder, '--team', 'team'], env)
    assert.equal(code, 0, err)
    assert.match(err, /p-7: C is left out of production\.env: its value cannot be read/)
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
    assert.deepEqual([variables.length, 'value' in variables[0]], [4, false])
    const account = JSON.parse(readFileSync(join(folder, 'account.json'), 'utf8'))
    assert.deepEqual(
      [account.webhooks.length, account.members.length, JSON.stringify(account).includes('secret')],
      [1, 1, false],
    )
    const again = await berth(['export', folder, '--team', 'team'], env)
    assert.deepEqual([again.code, /is not empty/.test(again.err)], [64, true])
  })
}
