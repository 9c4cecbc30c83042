/** What a new user does with other users and with tokens. */
import assert from 'node:assert/strict'
import { sendDueMail } from '../../../src/platform/mail/worker.ts'
import { PASSWORD } from '../../support/clients/browser-client.ts'
import { OPERATOR, type Steps, TEAM } from './scene.ts'

export const peopleSteps: Steps = {
  async 'a user without an account is invited by email, signs in, and joins the team'(scene) {
    const { tour, world, smtp } = scene
    await tour.go(`${TEAM}/members/invite`)
    await tour.fill({ email: 'ada@example.com' })
    await tour.look('invite-member')
    await tour.press('Invite')
    await tour.look('invited-member')
    await tour.go(`${OPERATOR}/people/invite`)
    await tour.look('invite-person')
    await sendDueMail(world.deps)
    const links = smtp.received.map(({ letter }) => /https:\/\/\S+\/set-password\?link=\w+/.exec(letter.text)?.[0])
    const link = links.find((one) => one !== undefined) ?? assert.fail('no letter has the link')
    tour.secret(new URL(link).searchParams.get('link')!, /\/members\/invite$|\/set-password/)
    const ada = await tour.another()
    scene.ada = ada
    await ada.go(link.slice(tour.origin.length))
    await ada.look('set-password')
    await ada.fill({ password: PASSWORD, again: PASSWORD })
    await ada.press('Set password')
    await ada.look('invitation')
    await ada.go('/invitations')
    await ada.look('invitations')
    await ada.follow(/^Team/)
    await ada.press('Join the team')
    await ada.follow('Go to the team')
    await ada.page.getByText('web').first().waitFor()
  },

  async 'a token is made and works, and once it is ended it does not'({ tour, world }) {
    await tour.go('/console/account/tokens/new')
    await tour.look('new-token')
    await tour.fill({ name: 'of the tour' })
    await tour.page.check('input[name=may][value=all]')
    await tour.press(/^Create token/)
    const [token] = /berth_\w{40}/.exec(await tour.page.locator('main').innerText())!
    tour.secret(token, /\/account\/tokens/)
    assert.equal((await world.as(token)('GET', '/v2/user')).body.user.username, 'admin')
    await tour.go('/console/account/tokens')
    await tour.look('tokens')
    await tour.press('Revoke the token of the tour')
    assert.equal(await tour.page.getByText('of the tour').count(), 0)
    assert.equal((await world.as(token).try('GET', '/v2/user')).status, 401)
  },

  async 'a session that ends in the middle of a form keeps what was typed'({ tour, world }) {
    await tour.go(`${TEAM}/new`)
    await tour.fill({ name: 'kept-name' })
    for (const suspended of [true, false])
      assert.equal((await world.operator('PATCH', '/operator/v1/users/admin', { suspended })).status, 200)
    await tour.press('Create project')
    await tour.look('sign-in-kept')
    await tour.fill({ name: 'admin', password: PASSWORD })
    await tour.press('Sign in')
    await tour.look('signed-in-kept')
    await tour.press('Back to what you typed')
    assert.equal(await tour.page.locator('main [name=name]').inputValue(), 'kept-name')
    await tour.press('Create project')
    assert.match(tour.page.url(), /\/projects\/kept-name$/)
  },
}
