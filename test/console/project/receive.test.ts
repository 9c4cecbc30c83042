/** A transfer code shows what it brings before it is accepted. docs/transfer.md. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { seedDeployment } from '../../support/projects.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const RECEIVE = '/console/t/taker/receive'

async function open(world: World) {
  const { id } = (await world.call('POST', '/v10/projects', { name: 'web' })).body
  for (const key of ['A', 'B'])
    await world.call('POST', '/v10/projects/web/env', { key, value: 'the-value', target: ['preview'] })
  await world.call('POST', '/v10/projects/web/domains', { name: 'www.example.com' })
  await seedDeployment(world, id, { url: 'one.host.test', target: 'preview' })
  const { code } = (await world.call('POST', '/projects/web/transfer-request', {})).body
  const taker = await world.user('taker')
  const client = await openSignedInClient(world, taker.id, 'taker')
  assert.match((await client.get(RECEIVE)).text, /<button class="btn primary">Review the transfer</)
  return { id, code, taker, client }
}

onBothEngines('a code is reviewed first: what comes, from whom and what stays, and nothing moves', async (world) => {
  const { code, client, taker, id } = await open(world)
  const review = await client.post(RECEIVE, { code: ` ${code} ` })
  assert.equal(review.status, 200, review.text)
  for (const said of [
    '<h1>Accept web into taker?</h1>',
    '<dt>From</dt><dd>admin</dd>',
    '<dt>Code created by</dt><dd>admin</dd>',
    '1 domain: www.example.com.',
    '2 variables, with history.',
    '1 deployment, with aliases.',
  ])
    assert.ok(review.text.includes(said), `${said}: ${review.text}`)
  assert.doesNotMatch(review.text, /the-value|aria-invalid/)
  assert.doesNotMatch(review.text, / autofocus/, 'what comes is read first')
  assert.match(review.text, /data-turbo="false"/, 'the answer is a page')
  const project = (await world.call('GET', '/v9/projects/web')).body
  assert.equal(project.transferStartedAt, undefined)
  const accepted = await client.post(RECEIVE, { code, newProjectName: '', step: 'accept' })
  assert.deepEqual([accepted.status, accepted.location], [303, '/console/t/taker'], accepted.text)
  const moving = (await world.call('GET', '/v9/projects/web')).body
  assert.deepEqual([moving.id, moving.transferToAccountId], [id, taker.id])
})

onBothEngines('a name that is taken is said on the review, before the acceptance', async (world) => {
  const { code, client, taker } = await open(world)
  await taker.call('POST', '/v10/projects', { name: 'web' })
  const review = await client.post(RECEIVE, { code })
  assert.equal(review.status, 200, review.text)
  assert.match(review.text, /id="newProjectName-fault"[\s\S]*taker already has a project named “web”/)
  const refused = await client.post(RECEIVE, { code, newProjectName: 'Not A Name', step: 'accept' })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /<h1>Accept web into taker\?<\/h1>[\s\S]*value="Not A Name"/)
  const accepted = await client.post(RECEIVE, { code, newProjectName: 'web-two', step: 'accept' })
  assert.equal(accepted.status, 303, accepted.text)
})

onBothEngines('a review shows nothing of a code that cannot be accepted', async (world) => {
  const { code, client, taker } = await open(world)
  await world.join(taker, 'VIEWER')
  const asViewer = await client.post('/console/t/team/receive', { code })
  assert.equal(asViewer.status, 403)
  const giver = await openSignedInClient(world)
  await giver.get('/console/t/admin/receive')
  const own = await giver.post('/console/t/admin/receive', { code })
  assert.equal(own.status, 400)
  const unknown = await client.post(RECEIVE, { code: 'nonsense' })
  assert.equal(unknown.status, 404)
  assert.match(unknown.text, /value="nonsense"[\s\S]*id="code-fault"/)
  await world.call('POST', '/projects/web/transfer-request', {})
  const replaced = await client.post(RECEIVE, { code })
  assert.equal(replaced.status, 404)
  for (const { text } of [asViewer, own, unknown, replaced])
    assert.doesNotMatch(text, /www\.example\.com|<h1>Accept web/)
})
