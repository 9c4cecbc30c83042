/** What an outsider tried on variables: reading, guessing and loosening what is not theirs, and texts that surprise. */
import assert from 'node:assert/strict'
import { type Answer, type Call, onBothEngines, type World } from './world.ts'

const SECRET = { type: 'encrypted', target: ['preview'] }
const told = ({ status, body }: Answer) => [status, body.error?.code]

/** A team's project with these variables, calls of its owner and of a DEVELOPER. */
async function web(world: World, items: object[]) {
  const { teamId } = world.credentials
  const of = (call: Call) => (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown) => {
    const headers = method === 'PUT' ? { 'content-type': 'text/plain' } : {}
    return call(method, `${path}${path.includes('?') ? '&' : '?'}teamId=${teamId}`, body, headers)
  }
  const owner = of(world.call)
  const made = await owner('POST', '/v10/projects', { name: 'web', environmentVariables: items })
  assert.equal(made.status, 200, made.text)
  const user = await world.user('developer')
  await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${user.id}`, { role: 'DEVELOPER' })
  return { owner, developer: of(user.call) }
}

onBothEngines('pulling preview does not tell what production shares with it', async (world) => {
  const { owner, developer } = await web(world, [
    { ...SECRET, key: 'PP', value: 'prod-secret', target: ['production', 'preview'] },
    { ...SECRET, key: 'OPEN', value: 'open', type: 'plain', target: ['production', 'preview'] },
    { ...SECRET, key: 'OWN', value: 'own' },
    { ...SECRET, key: 'PP', value: 'branch', gitBranch: 'dev' },
  ])
  const pull = '/v3/env/pull/web/preview'
  const exported = '/v1/projects/web/env/export?target=preview'
  const narrow = await world.token({ scopes: ['read:project-env-vars', 'read:project'] })
  const asToken: typeof developer = (method, path) =>
    narrow(method, `${path}${path.includes('?') ? '&' : '?'}teamId=${world.credentials.teamId}`)
  for (const call of [developer, asToken]) {
    const pulled = await call('GET', pull)
    assert.deepEqual(pulled.body, { env: { OPEN: 'open', OWN: 'own' }, buildEnv: {}, omitted: ['PP'] }, pulled.text)
    assert.deepEqual((await call('GET', `${pull}/dev`)).body.env, { OPEN: 'open', OWN: 'own', PP: 'branch' })
    const { text } = await call('GET', exported)
    assert.match(text, /^OWN=own$/m)
    assert.match(text, /^# PP is left out/m)
    assert.doesNotMatch(text, /prod-secret/)
  }
  assert.equal((await owner('GET', pull)).body.env.PP, 'prod-secret')
  assert.match((await owner('GET', exported)).text, /^PP=prod-secret$/m)
})
