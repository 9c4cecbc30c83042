/** What an outsider tried on variables: reading, guessing and loosening what is not theirs, and texts that surprise. */

import assert from 'node:assert/strict'
import { callOver, callWith, withQuery } from '../../support/call.ts'
import { type ApiResponse, type Call, onBothEngines, type World } from '../../support/world.ts'

const SECRET = { type: 'encrypted', target: ['preview'] }
const told = ({ status, body }: ApiResponse) => [status, body.error?.code]

/** A team's project with these variables, calls of its owner and of a DEVELOPER. */
async function web(world: World, items: object[]) {
  const { teamId } = world.credentials
  const of = (call: Call) =>
    callOver((method, path, body) => {
      const headers: Record<string, string> = method === 'PUT' ? { 'content-type': 'text/plain' } : {}
      return call.try(method, withQuery(path, `teamId=${teamId}`), body, headers)
    })
  const owner = of(world.call)
  const made = await owner('POST', '/v10/projects', { name: 'web', environmentVariables: items })
  assert.equal(made.status, 200, made.text)
  const user = await world.user('developer')
  await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${user.id}`, { role: 'DEVELOPER' })
  return { owner, developer: of(user.call) }
}

onBothEngines('pulling preview does not reveal which values it shares with production', async (world) => {
  const { owner, developer } = await web(world, [
    { ...SECRET, key: 'PP', value: 'prod-secret', target: ['production', 'preview'] },
    { ...SECRET, key: 'OPEN', value: 'open', type: 'plain', target: ['production', 'preview'] },
    { ...SECRET, key: 'OWN', value: 'own' },
    { ...SECRET, key: 'PP', value: 'branch', gitBranch: 'dev' },
  ])
  const pull = '/v3/env/pull/web/preview'
  const exported = '/v1/projects/web/env/export?target=preview'
  const narrow = await world.token({ scopes: ['read:project-env-vars', 'read:project'] })
  const asToken = callWith(narrow, `teamId=${world.credentials.teamId}`)
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

const FILE = '/v1/projects/web/env'

onBothEngines('a dry run does not reveal whether a guessed production value is right', async (world) => {
  const shared = { ...SECRET, target: ['production', 'preview'] }
  const { owner, developer } = await web(world, [
    { ...shared, key: 'PP', value: 'right' },
    { ...shared, key: 'SYS', value: 'VERCEL_URL', type: 'system' },
  ])
  const texts = ['PP=right', 'PP=wrong', `PP=${'x'.repeat(70_000)}`, 'SYS=x', 'NEW=1\nPP=right']
  const answers = await Promise.all(
    ['&dryRun=true', ''].flatMap((dry) =>
      texts.map((text) => developer.try('PUT', `${FILE}?target=preview${dry}`, text)),
    ),
  )
  for (const answer of answers) assert.deepEqual(answer.body, answers[0]?.body)
  assert.deepEqual(told(answers[0]!), [403, 'forbidden'])
  assert.equal((await developer('PUT', `${FILE}?target=preview&dryRun=true`, 'NEW=1')).status, 200)
  const allowed = await owner('PUT', `${FILE}?target=preview,production&dryRun=true`, 'PP=right')
  assert.deepEqual(allowed.body.plan.unchanged, ['PP'])
})

onBothEngines('a .env text keeps the types that are there, and sensitive above all', async (world) => {
  const { owner } = await web(world, [
    { ...SECRET, key: 'S', value: 's', type: 'sensitive' },
    { ...SECRET, key: 'WIDE', value: 's', type: 'sensitive', target: ['production', 'preview'] },
    { ...SECRET, key: 'TWO', value: 'p', type: 'plain', target: ['production'] },
    { ...SECRET, key: 'TWO', value: 's', type: 'sensitive' },
    { ...SECRET, key: 'E', value: 'e', target: ['preview', 'development'] },
  ])
  const types = async () => {
    const { envs } = (await owner('GET', FILE)).body
    return Object.fromEntries(envs.map(({ key, target, type }) => [`${key} ${target}`, type]))
  }
  for (const type of ['&type=plain', '', '&type=encrypted']) {
    const text = `S=1${type}\nWIDE=2${type}\nE=3${type}\nNEW=4${type}`
    assert.equal((await owner('PUT', `${FILE}?target=preview${type}`, text)).status, 200)
    const both = await owner('PUT', `${FILE}?target=production,preview${type}`, `TWO=5${type}`)
    assert.equal(both.status, 200, both.text)
    assert.deepEqual(await types(), {
      'S preview': 'sensitive',
      'WIDE preview': 'sensitive',
      'WIDE production': 'sensitive',
      'TWO production,preview': 'sensitive',
      'E preview': 'encrypted',
      'E development': 'encrypted',
      'NEW preview': 'plain',
    })
  }
  // The type in the query applies to new variables; without new ones it is not an error.
  const kept = await owner('PUT', `${FILE}?target=development&type=sensitive`, 'E=6')
  assert.equal(kept.status, 200, kept.text)
  const replaced = await owner('POST', `${FILE}?upsert=true`, { ...SECRET, key: 'S', value: 'x', type: 'plain' })
  assert.deepEqual([replaced.status, replaced.body.created?.type], [201, 'plain'])
})

onBothEngines('a dry run refuses what the type that is kept refuses, by line', async (world) => {
  const { owner } = await web(world, [
    { ...SECRET, key: 'SD', value: 's', type: 'sensitive' },
    { ...SECRET, key: 'SY', value: 'VERCEL_URL', type: 'system' },
  ])
  for (const dry of ['&dryRun=true', '']) {
    for (const [target, text] of [
      ['preview,development', 'A=1\nSD=x'],
      ['preview', 'A=1\nSY=a'],
    ]) {
      const refused = await owner.try('PUT', `${FILE}?target=${target}${dry}`, text)
      assert.deepEqual(told(refused), [400, 'bad_request'], `${text}${dry}`)
      assert.equal(refused.body.error.lines[0].line, 2)
      for (const { message } of [refused.body.error, refused.body.error.lines[0]]) assert.match(message, /[^.]\.$/)
    }
  }
  assert.deepEqual((await owner('PUT', `${FILE}?target=preview`, 'SY=VERCEL_URL')).body.plan.unchanged, ['SY'])
})

onBothEngines('an exported text that is put back with replace removes nothing', async (world) => {
  const { owner } = await web(world, [
    { ...SECRET, key: 'SENSITIVE', value: 's', type: 'sensitive' },
    { ...SECRET, key: 'SYSTEM', value: 'VERCEL_URL', type: 'system' },
    { ...SECRET, key: 'ODD', value: `all of ' \` " \\ and\r` },
    { ...SECRET, key: 'EVEN', value: 'e' },
  ])
  const { text } = await owner('GET', '/v1/projects/web/env/export?target=preview')
  assert.match(text, /# ODD is left out/)
  const put = await owner('PUT', `${FILE}?target=preview&mode=replace`, text)
  assert.deepEqual(put.body.plan, { created: [], updated: [], removed: [], unchanged: ['EVEN'] })
  assert.equal((await owner('GET', FILE)).body.envs.length, 4)
  const less = await owner('PUT', `${FILE}?target=preview&mode=replace`, 'OTHER=1')
  assert.deepEqual(less.body.plan.removed, ['EVEN'])
})

onBothEngines('limits are checked before ids are deduplicated, and on the branch of a pull', async (world) => {
  const { owner } = await web(world, [])
  const many = await owner.try('DELETE', FILE, { ids: Array(1001).fill('env_unknown') })
  assert.equal(many.status, 400)
  const branch = (length: number) => owner.try('GET', `/v3/env/pull/web/preview/${'b'.repeat(length)}`)
  assert.deepEqual([(await branch(250)).status, (await branch(251)).status], [200, 400])
})
