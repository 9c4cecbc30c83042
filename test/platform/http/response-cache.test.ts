/** No cached response is stale: every write of the whole table, every sweep, and time. docs/architecture.md: Caching. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROUTES } from '../../../src/routes.ts'
import { runEverySweep, runEveryWrite } from '../../support/every-write.ts'
import { type Samples, seedSamples } from '../../support/sample-requests.ts'
import { disableInstallation } from '../../support/states.ts'
import { type ApiResponse, type Call, onBothEngines, type World } from '../../support/world.ts'
import { seedInstallation, seedIntegration } from '../../support/worlds/integration-world.ts'

const REMEMBERED = ROUTES.filter((route) => route.cache !== undefined)
const DAY_MS = 86_400_000

/** Every remembered answer that one of these callers can have, as a question. */
async function questionsOf(world: World, samples: Samples): Promise<(() => Promise<ApiResponse>)[]> {
  const { teamId } = samples
  const made = await world.call('POST', `/v10/projects?teamId=${teamId}`, { name: 'of-team' })
  assert.equal(made.status, 200, made.text)
  const app = await seedIntegration(world, { slug: 'reader' })
  const installed = await seedInstallation(world, { app }, { teamId: undefined })
  const variable = { key: 'OF_APP', value: 'v', target: ['preview'] }
  assert.equal((await installed.call('POST', '/v10/projects/web/env', variable)).status, 201)
  const member = await world.user('member')
  await world.join(member, 'MEMBER')
  const { token } = (await world.operator('POST', '/operator/v1/tokens', { userId: samples.mateId })).body
  const callers: [Call, string, string[]][] = [
    // The members whose role the table changes, and those that it removes.
    [world.as(token), `&teamId=${teamId}`, ['of-team']],
    [world.call, '', ['web', 'other', 'sample', 'gift']],
    [world.call, `&teamId=${teamId}`, ['of-team']],
    [member.call, `&teamId=${teamId}`, ['of-team']],
    [member.call, '&slug=team', ['of-team']],
    [installed.call, '', ['web', 'sample']],
    [samples.rival.call, '', ['secret', 'gift']],
    [await world.token({ projectIds: [samples.projectId] }), '', ['web', 'other']],
    [await world.token({ scopes: ['read:project'] }), '', ['web']],
  ]
  return callers.flatMap(([call, query, names]) => {
    const paths = REMEMBERED.flatMap(({ path }) => {
      if (!path.includes(':')) return [`${path}?limit=20`, `${path}?search=e`]
      return names.map((name) => `${path.replace(':idOrName', name)}?`)
    })
    return paths.map((path) => () => call.try('GET', path + query))
  })
}

async function ask(questions: (() => Promise<ApiResponse>)[]): Promise<string[]> {
  const answers = []
  for (const question of questions) {
    const { status, text, headers } = await question()
    answers.push(`${status} ${headers.link ?? ''} ${text}`)
  }
  return answers
}

/** Compares cached responses with rebuilt ones. */
async function mustBeFresh(world: World, questions: (() => Promise<ApiResponse>)[], after: string): Promise<void> {
  const warm = await ask(questions)
  world.deps.db.refreshSnapshot()
  const cold = await ask(questions)
  for (const [at, answer] of cold.entries()) assert.equal(warm[at], answer, `after ${after}`)
}

/** PostgreSQL is written by others too, so nothing is remembered there: what it answers is always read. */
function onSqlite(name: string, run: (world: World) => Promise<void>): void {
  onBothEngines(name, run, {}, ['sqlite'])
}

onBothEngines('answers are remembered where only this process commits', async ({ deps, engine }) => {
  assert.equal(deps.cache !== undefined, engine === 'sqlite')
})

onSqlite('no write of the table leaves a remembered answer as it was before', async (world) => {
  const samples = await seedSamples(world)
  const questions = await questionsOf(world, samples)
  await ask(questions)
  await runEveryWrite(world, samples, (operationId) => mustBeFresh(world, questions, operationId))
})

onSqlite('no sweep does, and nothing that ends by the clock', async (world) => {
  const samples = await seedSamples(world)
  const questions = await questionsOf(world, samples)
  const soon = await world.token({ expiresAt: world.deps.clock.now() + DAY_MS })
  questions.push(
    () => soon.try('GET', '/v9/projects/web'),
    () => soon.try('GET', '/v9/projects?limit=20'),
  )
  await world.call('POST', '/v1/projects/web/pause', {})
  await ask(questions)
  await runEverySweep(world, (what) => mustBeFresh(world, questions, what))
  assert.equal((await soon.try('GET', '/v9/projects/web')).status, 401)
})

onSqlite('a change of any one setting of access invalidates the responses that depend on it', async (world) => {
  const samples = await seedSamples(world)
  const app = await seedIntegration(world, { slug: 'reader' })
  const installed = await seedInstallation(world, { app }, { teamId: undefined, projects: [samples.projectId] })
  const variable = { key: 'OF_APP', value: 'v', target: ['preview'] }
  assert.equal((await installed.call('POST', '/v10/projects/web/env', variable)).status, 201)
  const asApp = (path: string) => installed.call.try('GET', path)
  const bySlug = () => world.call.try('GET', '/v9/projects?slug=team')
  const count = async () => JSON.parse((await asApp('/v9/projects')).text).projects.length
  const shown = async () => (await world.call('GET', '/v9/projects/web/env')).text

  assert.equal((await bySlug()).status, 200)
  assert.equal((await world.call('PATCH', `/v2/teams/${samples.teamId}`, { slug: 'renamed-team' })).status, 200)
  assert.equal((await bySlug()).status, 403, 'a slug that is given up (account)')

  assert.ok((await shown()).includes('"name":"Helper"'))
  const renamed = await world.operator('PATCH', `/operator/v1/integrations/${app.id}`, { name: 'Renamed' })
  assert.equal(renamed.status, 200, renamed.text)
  assert.ok((await shown()).includes('"name":"Renamed"'), 'the name of an integration (integration)')

  assert.equal(await count(), 1)
  const other = (await world.call('GET', '/v9/projects/other')).body.id
  const path = `/v1/integrations/configuration/${installed.installationId}`
  const allowed = await world.call('POST', `${path}/project/${other}`, { allowed: true })
  assert.equal(allowed.status, 200, allowed.text)
  assert.equal(await count(), 2, 'a project more (configuration_project)')

  assert.equal((await asApp('/v9/projects')).status, 200)
  await disableInstallation(world, installed.installationId)
  assert.equal((await asApp('/v9/projects')).status, 403, 'an installation that is disabled (configuration)')
  assert.ok((await world.call.try('DELETE', path)).status < 300)
  assert.equal((await asApp('/v9/projects')).status, 401, 'an installation that is removed')
})

onSqlite('this test can fail: where no stamp is raised, answers are stale', async (world) => {
  const samples = await seedSamples(world)
  const questions = await questionsOf(world, samples)
  await ask(questions)
  const { invalidate } = world.deps.db.changes
  world.deps.db.changes.invalidate = () => {}
  await world.call('PATCH', '/v9/projects/web', { framework: 'nextjs' })
  world.deps.db.changes.invalidate = invalidate
  await assert.rejects(mustBeFresh(world, questions, 'a change'), /after a change/)
})

onSqlite('every remembered route is given from memory, and another account changes nothing of it', async (world) => {
  const samples = await seedSamples(world)
  const found = new Set<unknown>()
  const { get } = world.deps.cache!
  world.deps.cache!.get = (key) => {
    const value = get(key)
    if (value !== undefined) found.add(value)
    return value
  }
  const paths = REMEMBERED.map(({ path }) => path.replace(':idOrName', 'web'))
  for (const path of paths) assert.equal((await world.call('GET', path)).status, 200)
  await samples.rival.call('POST', '/v10/projects', { name: 'elsewhere' })
  await world.call('PATCH', '/v9/projects/other', { framework: 'nextjs' })
  const known = found.size
  await world.call('GET', '/v9/projects/web')
  assert.equal(found.size, known + 1, 'a write to another project ends the answer of this one')
})

onSqlite('a response with a decrypted value is not cached', async (world) => {
  const samples = await seedSamples(world)
  const secret = 'a-plain-value-that-is-shown-in-clear'
  const plain = { key: 'PLAIN', value: secret, type: 'plain', target: ['production'] }
  assert.equal((await world.call('POST', '/v10/projects/other/env', plain)).status, 201)
  const { protectionBypass } = (
    await world.call('PATCH', `/v1/projects/${samples.projectId}/protection-bypass`, { generate: {} })
  ).body
  const [bypass] = Object.keys(protectionBypass)
  const texts: string[] = []
  const { set } = world.deps.cache!
  world.deps.cache!.set = (key, since, remembered) => {
    texts.push(`${key} ${(remembered.value as { body?: Buffer }).body ?? ''}`)
    return set(key, since, remembered)
  }
  for (const path of ['/v9/projects', '/v9/projects/web', '/v9/projects/web/env?decrypt=true']) {
    const { text } = await world.call('GET', path)
    assert.ok(text.includes(path.includes('decrypt') ? 'second' : bypass!), path)
  }
  assert.ok((await world.call('GET', '/v9/projects/other/env')).text.includes(secret))
  await world.call('GET', '/v9/projects/other')
  assert.equal(texts.filter((text) => text.includes('"body"') || text.includes(secret)).length, 0)
  assert.equal(texts.filter((text) => text.includes(bypass!) || text.includes('"second"')).length, 0)
  assert.ok(texts.some((text) => text.includes('PLAIN')))
})

test('every remembered route is a GET of the public API', () => {
  for (const { method, auth } of REMEMBERED) assert.deepEqual([method, auth], ['GET', 'public'])
  assert.ok(REMEMBERED.length >= 3)
})
