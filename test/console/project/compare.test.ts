/** The page that compares two environments: its rows for every state, and that it has no value. docs/console.md: Project pages. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { readPage } from '../../support/clients/page-text.ts'
import { onBothEngines } from '../../support/world.ts'

const PATH = '/console/t/admin/projects/web/variables'
const HINT =
  'General values only, without branch overrides and shared variables. Values that are write-only, or that your role cannot read, are not compared.'

/** What the page says of the keys: the summary, and the table. */
function comparedIn(text: string): string[] {
  const lines = readPage(text)
  return lines.slice(lines.indexOf('[Compare]') + 1, lines.indexOf(HINT))
}

onBothEngines('two environments are compared without a value of either', async (world) => {
  await world.call('POST', '/v10/projects', { name: 'web' })
  const { id: staging } = (await world.call('POST', '/v9/projects/web/custom-environments', { slug: 'staging' })).body
  for (const [key, value, target, more] of [
    ['SAME', 'equal-value', ['production']],
    ['SAME', 'equal-value', ['preview']],
    ['OTHER', 'one-value', ['production']],
    ['OTHER', 'another-value', ['preview']],
    ['HERE', 'here-value', ['production']],
    ['THERE', 'there-value', ['preview']],
    ['SECRET', 'hidden-value', ['production'], { type: 'sensitive' }],
    ['SECRET', 'hidden-value', ['preview'], { type: 'sensitive' }],
    ['LEFT', 'hidden-value', ['production'], { type: 'sensitive' }],
    ['LEFT', 'hidden-value', ['preview']],
    ['RIGHT', 'hidden-value', ['production']],
    ['RIGHT', 'hidden-value', ['preview'], { type: 'sensitive' }],
    ['BRANCH', 'branch-value', ['preview'], { gitBranch: 'next' }],
    ['BOTH', 'both-value', ['production', 'preview'], { type: 'sensitive' }],
    ['LOCAL', 'local-value', ['development']],
  ] as const)
    await world.call('POST', '/v10/projects/web/env', { key, value, target, ...more })
  const client = await openSignedInClient(world)
  const page = async (query: string) => {
    const { text, status } = await client.get(`${PATH}/compare?${query}`)
    assert.equal(status, 200, text)
    assert.doesNotMatch(text, /-value/)
    assert.doesNotMatch(text, /berth-live/, 'values are read only when a user asks')
    return comparedIn(text)
  }
  const [inBoth, onlyLeft, onlyRight] = [
    '(good) in Production | (good) in Preview',
    '(good) in Production | (warn) not in Preview',
    '(warn) not in Production | (good) in Preview',
  ]
  const summary = "6 of 8 keys differ or can't be compared."
  const head = 'Key | Production | Preview | Values |'
  const rows = [
    `BOTH | ${inBoth} | Same |`,
    `HERE | ${onlyLeft} | Only in one |`,
    `LEFT | ${inBoth} | Write-only |`,
    `OTHER | ${inBoth} | Different |`,
    `RIGHT | ${inBoth} | Write-only |`,
    `SAME | ${inBoth} | Same |`,
    `SECRET | ${inBoth} | Write-only |`,
    `THERE | ${onlyRight} | Only in one |`,
  ]
  assert.deepEqual(await page('left=production&right=preview&all=1'), [summary, head, ...rows])
  const different = rows.filter((row) => !row.includes('Same'))
  assert.deepEqual(await page(''), [summary, head, ...different], 'production and preview where none is named')
  assert.deepEqual(await page(`left=development&right=${staging}`), [
    "1 of 1 keys differs or can't be compared.",
    'Key | Development | staging (custom) | Values |',
    'LOCAL | (good) in Development | (warn) not in staging (custom) | Only in one |',
  ])
  assert.deepEqual(await page('left=development&right=development'), ['All 1 keys are the same.'])
  assert.deepEqual(await page(`left=${staging}&right=${staging}`), ['No variables in either environment.'])
  assert.deepEqual(await page('left=gone&right=development'), [
    "1 of 1 keys differs or can't be compared.",
    'Key | gone | Development | Values |',
    'LOCAL | (warn) not in gone | (good) in Development | Only in one |',
  ])
  assert.match((await client.get(PATH)).text, /berth-live/)
})

onBothEngines('a user who cannot read one of the values sees no difference between them', async (world) => {
  const { teamId } = world.credentials
  await world.call('POST', `/v10/projects?teamId=${teamId}`, { name: 'web' })
  for (const target of ['production', 'preview'])
    await world.call('POST', `/v10/projects/web/env?teamId=${teamId}`, { key: 'A', value: 'equal', target: [target] })
  const { slug } = (await world.call('GET', `/v2/teams/${teamId}`)).body
  for (const role of ['VIEWER', 'DEVELOPER']) {
    const name = role.toLowerCase()
    const user = await world.user(name)
    await world.join(user, role)
    const client = await openSignedInClient(world, user.id, name)
    for (const [left, right] of [
      ['Production', 'Preview'],
      ['Preview', 'Production'],
    ] as const) {
      const query = `left=${left.toLowerCase()}&right=${right.toLowerCase()}`
      const { text } = await client.get(`/console/t/${slug}/projects/web/variables/compare?${query}`)
      assert.deepEqual(comparedIn(text), [
        "1 of 1 keys differs or can't be compared.",
        `Key | ${left} | ${right} | Values |`,
        `A | (good) in ${left} | (good) in ${right} | Not readable by you |`,
      ])
    }
  }
})
