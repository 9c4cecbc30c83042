/** The theme that a user chooses for a browser. docs/console.md: Page layout. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { onBothEngines } from '../../support/world.ts'

const PROFILE = '/console/account'

onBothEngines('a browser keeps the theme that its user chose, also on pages before a sign-in', async (world) => {
  const client = await openSignedInClient(world)
  assert.match((await client.get(PROFILE)).text, /<html lang="en">[\s\S]*value="system" selected/)
  const dark = await client.post(`${PROFILE}/theme`, { theme: 'dark' })
  assert.deepEqual([dark.status, dark.location], [303, PROFILE], dark.text)
  assert.match(
    String(dark.headers['set-cookie']),
    /berth_theme=dark; Path=\/; HttpOnly; SameSite=Lax; Max-Age=34560000/,
  )
  assert.match((await client.get(PROFILE)).text, /<html lang="en" data-theme="dark">[\s\S]*value="dark" selected/)
  assert.equal((await client.post(`${PROFILE}/theme`, { theme: 'dark"><b>' })).status, 400)
  await client.post('/sign-out')
  assert.match((await client.get('/sign-in')).text, /<html lang="en" data-theme="dark">/)
  client.cookies.set('berth_theme', '"><b>')
  assert.match((await client.get('/sign-in')).text, /<html lang="en">/)
  const back = await openSignedInClient(world)
  await back.get(PROFILE)
  await back.post(`${PROFILE}/theme`, { theme: 'light' })
  assert.match((await back.get(PROFILE)).text, /data-theme="light"/)
  await back.post(`${PROFILE}/theme`, { theme: 'system' })
  assert.match((await back.get(PROFILE)).text, /<html lang="en">/)
})
