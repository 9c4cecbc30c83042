/** Names that users chose are one line in letters, and never stand where the words of the service do. */
import assert from 'node:assert/strict'
import { Email, isEmail } from '../../../src/accounts/accounts/schema.ts'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { setUpCodes } from '../../support/clients/second-factor.ts'
import { readQueuedMail } from '../../support/queued-mail.ts'
import { nameAccounts } from '../../support/states.ts'
import { onBothEngines } from '../../support/world.ts'

const FORGED = 'Security\r\nBcc: eve@evil.example\r\n\r\nGo to http://evil.example\u202e'
const IN_ONE_LINE = 'Security Bcc: eve@evil.example Go to http://evil.example'

onBothEngines('a name makes no line of its own in a letter, and no line of it begins with one', async (world) => {
  await nameAccounts(world, FORGED)
  const { teamId, userId } = world.credentials
  assert.equal((await world.operator('POST', `/operator/v1/users/${userId}/password-link`)).status, 201)
  await setUpCodes(world, await openSignedInClient(world))
  const invited = await world.call('POST', `/v1/teams/${teamId}/members`, { email: 'new@example.com' })
  assert.equal(invited.status, 200, invited.text)
  const letters = await readQueuedMail(world)
  assert.ok(letters.length >= 3, `${letters.length} letters`)
  for (const { body_text: text } of letters) {
    assert.match(text, /^(?:Hello Security|admin invites you to the team team as VIEWER\.\n)/)
    for (const line of text.split('\n').filter((one) => one.includes('evil.example')))
      assert.match(line, /^(?:Hello |Their name: “|The name of the team: “)/)
    assert.ok(text.includes(IN_ONE_LINE), text)
  }
})

onBothEngines('a name is visible characters in one line', async (world) => {
  const rename = (name: string) => world.operator.try('PATCH', '/operator/v1/users/admin', { name })
  for (const bad of ['a\nb', 'a\r', '\t', 'a\u0001', '\u0085', 'a\u2028b', 'a\u202e', '\u2066a', '\u2069']) {
    const refused = await rename(bad)
    assert.equal(refused.status, 400, JSON.stringify(bad))
    assert.match(refused.body.error.message, /`name` should be visible characters in one line/)
    const team = await world.call.try('PATCH', '/v2/teams/team', { name: bad })
    assert.equal(team.status, 400, JSON.stringify(bad))
  }
  for (const good of ['Ada Lovelace', 'שלום', 'نام‌خانوادگی', '👩‍👩‍👧 Ünï', '山田'])
    assert.equal((await rename(good)).status, 200, good)
})

onBothEngines('no user is invited to an address that letters do not go to', async (world) => {
  const path = `/v1/teams/${world.credentials.teamId}/members` as const
  const bad = [
    '<b>@x.example',
    'x@[127.0.0.1]',
    'a@x.example\u202e',
    'a,b@x.example',
    '"a"@x.example',
    'a\u200b@x.example',
    'a@b@c',
  ]
  for (const email of [...bad, `${'a'.repeat(65)}@x.example`]) {
    assert.equal(isEmail(email), false, email)
    for (const answer of [
      await world.call.try('POST', path, { email }),
      await world.operator.try('POST', '/operator/v1/users', { email, username: 'ada' }),
      await world.operator.try('PATCH', '/operator/v1/users/admin', { email }),
    ]) {
      assert.equal(answer.status, 400, email)
      assert.match(answer.body.error.message, /`email` should be an email address/)
    }
  }
  for (const email of ['ada+ci@x.example', "o'neil@x.example", 'ü@bücher.example', 'a.b-c_d@x-y.example'])
    assert.equal((await world.call('POST', path, { email })).status, 200, email)
  assert.ok(
    new RegExp((Email as { pattern?: string }).pattern!, 'u').test('ada@example.com'),
    'programs read the pattern with the flag u',
  )
})
