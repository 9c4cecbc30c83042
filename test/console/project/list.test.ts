/** The list of projects in the console, and making one. docs/console.md. */
import assert from 'node:assert/strict'
import { signedIn } from '../../support/browser-client.ts'
import { onBothEngines } from '../../support/world.ts'

onBothEngines('a person makes a project and finds it in the list', async (world) => {
  const client = await signedIn(world)
  const home = await client.get('/console')
  assert.equal(home.status, 303)
  const empty = await client.get(home.location)
  assert.equal(empty.status, 200, empty.text)
  assert.match(empty.text, /No project yet/)
  await client.get(`${home.location}/new`)
  const refused = await client.post(`${home.location}/new`, { name: 'Not A Name' })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /role="alert"/)
  assert.match(refused.text, /value="Not A Name"/)
  const made = await client.post(`${home.location}/new`, { name: 'web' })
  assert.deepEqual([made.status, made.location], [303, `${home.location}/projects/web`], made.text)
  assert.match((await client.get(home.location)).text, />web</)
  const again = await client.post(`${home.location}/new`, { name: 'web' })
  assert.equal(again.status, 409)
})
