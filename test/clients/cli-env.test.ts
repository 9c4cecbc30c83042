import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { assertSaid, onBothClis } from './cli-world.ts'

type Variable = { id: string; key: string; type: string; target: string[]; gitBranch?: string; value: string }

onBothClis('variables', async (world) => {
  const { cli, works, api, version, at, link } = world
  const project = (await api('POST', '/v10/projects', { name: 'web' })).body
  link(project)
  const newer = version !== '39.1.3'
  const all = async (): Promise<Variable[]> => (await api('GET', '/v9/projects/web/env?decrypt=true')).body.envs
  const named = async (key: string, target: string, gitBranch?: string) =>
    (await all()).find((one) => one.key === key && one.target.includes(target) && one.gitBranch === gitBranch)
  // The newer one creates secrets that cannot be read again, unless a flag says otherwise.
  const readable = newer ? ['--type', 'config'] : []

  await works('env add', async () => {
    const said = await cli(['env', 'add', 'URL', 'production', ...readable], { input: 'https://first' })
    assertSaid(said, 0, newer ? /✓ Added +URL/ : 'Added Environment Variable URL to Project web')
    const made = await named('URL', 'production')
    assert.deepEqual([made?.value, made?.type, made?.target], ['https://first', 'encrypted', ['production']])
    await cli(['env', 'add', 'LOCAL', 'development'], { input: 'http://localhost' })
    assert.equal((await named('LOCAL', 'development'))?.value, 'http://localhost')
    if (newer) {
      await cli(['env', 'add', 'SECRET', 'production'], { input: 'hidden' })
      const secret = await named('SECRET', 'production')
      assert.deepEqual([secret?.type, secret?.value], ['sensitive', ''])
    }
    const reserved = await cli(['env', 'add', 'NOT-A-NAME', 'production', ...readable], { input: 'x' })
    assertSaid(reserved, 1)
    assert.equal(await named('NOT-A-NAME', 'production'), undefined)
  })
  await works('env add, a branch', async () => {
    assertSaid(await cli(['env', 'add', 'URL', 'preview', 'feature', ...readable], { input: 'https://branch' }), 0)
    assert.deepEqual((await named('URL', 'preview', 'feature'))?.value, 'https://branch')
  })
  await works('env add, twice', async () => {
    const said = await cli(['env', 'add', 'URL', 'production', ...readable], { input: 'https://second' })
    assertSaid(said, 1, 'Error: Another variable with the same key, environment and branch exists in the project.')
    assert.equal((await named('URL', 'production'))?.value, 'https://first')
  })
  await works('env add --force', async () => {
    const { id } = (await named('URL', 'production'))!
    const said = await cli(['env', 'add', 'URL', 'production', '--force', ...readable], { input: 'https://second' })
    assertSaid(said, 0, newer ? /✓ Overrode +URL/ : 'Overrode Environment Variable URL')
    const now = await named('URL', 'production')
    assert.deepEqual([now?.id, now?.value], [id, 'https://second'])
  })
  await works('env ls', async () => {
    const said = await cli(['env', 'ls'])
    assertSaid(said, 0, 'Environment Variables found for team/web', /URL .*Preview \(feature\)/, /URL .*Production/)
    assert.doesNotMatch(said.out + said.err, /https:\/\/second/)
    const one = await cli(['env', 'ls', 'preview', 'feature'])
    assertSaid(one, 0, /URL .*Preview/)
    assert.doesNotMatch(one.out, /Production|Development/)
  })
  await works('env update', async () => {
    const { id } = (await named('URL', 'production'))!
    const said = await cli(['env', 'update', 'URL', 'production', '--yes'], { input: 'https://third' })
    assertSaid(said, 0, /✓ Updated +URL/)
    const now = await named('URL', 'production')
    assert.deepEqual([now?.id, now?.value], [id, 'https://third'])
    assertSaid(await cli(['env', 'update', 'NONE', 'production', '--yes'], { input: 'x' }), 1, 'was not found')
  })
  await works('env pull', async () => {
    assertSaid(await cli(['env', 'pull', '--yes']), 0, '.env.local')
    assert.match(readFileSync(at('work', '.env.local'), 'utf8'), /^LOCAL="http:\/\/localhost"$/m)
  })
  await works('env pull --git-branch', async () => {
    const { value } = (await named('URL', 'production'))!
    const words = ['env', 'pull', '.env.branch', '--yes', '--environment', 'preview', '--git-branch', 'feature']
    assertSaid(await cli(words), 0, '.env.branch')
    assert.match(readFileSync(at('work', '.env.branch'), 'utf8'), /^URL="https:\/\/branch"$/m)
    assertSaid(await cli(['env', 'pull', '.env.production', '--yes', '--environment', 'production']), 0)
    assert.ok(readFileSync(at('work', '.env.production'), 'utf8').split('\n').includes(`URL="${value}"`))
  })
  await works('pull', async () => {
    assertSaid(await cli(['pull', '--yes']), 0, 'Downloaded project settings')
    assert.match(readFileSync(at('work', '.vercel', '.env.development.local'), 'utf8'), /^LOCAL="http:\/\/localhost"$/m)
    const { settings, projectId } = JSON.parse(readFileSync(at('work', '.vercel', 'project.json'), 'utf8'))
    assert.deepEqual([projectId, settings.nodeVersion], [project.id, '22.x'])
  })
  await works('env rm', async () => {
    const many = { key: 'MANY', value: 'v', type: 'encrypted', target: ['production', 'preview'] }
    await api('POST', '/v10/projects/web/env', many)
    assertSaid(await cli(['env', 'rm', 'URL', 'preview', 'feature', '--yes']), 0, 'Removed Environment Variable')
    assert.equal(await named('URL', 'preview', 'feature'), undefined)
    assert.ok(await named('URL', 'production'))
    const part = newer ? 'Removed production target from Environment Variable' : 'Removed Environment Variable'
    assertSaid(await cli(['env', 'rm', 'MANY', 'production', '--yes']), 0, part)
    assert.equal(await named('MANY', 'production'), undefined)
    // The older one removes the whole variable, the newer one this environment of it.
    assert.equal((await named('MANY', 'preview')) !== undefined, newer)
    assertSaid(await cli(['env', 'rm', 'URL', 'preview', 'feature', '--yes']), 1, 'was not found')
  })
  await works('a folder that is not linked', async () => {
    assertSaid(await cli(['env', 'ls'], { folder: 'bare' }), 1, 'Your codebase isn’t linked to a project')
    assert.equal(existsSync(at('bare', '.vercel', 'project.json')), false)
  })

  await works(
    'target ls',
    async () => {
      await api('POST', '/v9/projects/web/custom-environments', { slug: 'staging' })
      assertSaid(await cli(['target', 'ls']), 0, 'staging', 'Production', 'Preview', 'Development')
    },
    'GET /projects/:idOrName/custom-environments',
  )
  await works(
    'env, a custom environment',
    async () => {
      assertSaid(await cli(['env', 'add', 'STAGED', 'staging', ...readable], { input: 'here' }), 0)
      assertSaid(await cli(['env', 'ls', 'staging']), 0, /STAGED .*staging/i)
      assertSaid(await cli(['env', 'pull', '.env.staging', '--yes', '--environment', 'staging']), 0)
      assert.match(readFileSync(at('work', '.env.staging'), 'utf8'), /^STAGED="here"$/m)
      assertSaid(await cli(['env', 'rm', 'STAGED', 'staging', '--yes']), 0, 'Removed Environment Variable')
      assert.deepEqual(
        (await all()).filter(({ key }) => key === 'STAGED'),
        [],
      )
    },
    'POST /projects/:idOrName/custom-environments',
  )
})
