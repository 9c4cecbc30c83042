/** What a user typed is kept over a sign-in by the provider, in a real Chromium and with a real provider. docs/console.md: Sessions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findChromium, openChromium, openWindow } from '../../support/clients/chromium.ts'
import { skipReason } from '../../support/programs.ts'
import { startProvider } from '../../support/servers/identity-provider.ts'
import { ENGINES, openWorld } from '../../support/world.ts'

const chromium = findChromium()
const NEW = '/console/t/ada/projects/web/variables/new'
const SECRET = 'typed "& <kept>"'

for (const engine of ENGINES) {
  test(`a form is kept over a sign-in, and over a reauthentication, by the provider [${engine}]`, {
    timeout: 300_000,
  }, async (t) => {
    if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'forms that are kept over a provider'))
    // The browser goes first, so that nothing waits for its connections.
    const browser = await openChromium(chromium)
    t.after(() => browser.close())
    const provider = await startProvider()
    t.after(() => provider.close())
    const { BERTH_PUBLIC_URL, ...settings } = provider.settings
    const world = await openWorld(engine, settings)
    t.after(() => world.close())
    const origin = await world.listen()
    provider.people.set('ada', { email: 'ada@example.com', email_verified: true, preferred_username: 'ada' })
    provider.expect(origin, 'ada')
    const { context, page, complaints } = await openWindow(browser, 1280, true)
    const atTheForm = () => page.getByText('Nothing was changed yet').waitFor()

    await page.goto(`${origin}/sign-in`)
    await page.getByRole('link', { name: /Sign in by/ }).click()
    await page.waitForURL(/\/console\/t\/ada/)
    const { userId } = (await world.operator('GET', '/operator/v1/users?search=ada')).body.users.map(
      ({ id }: { id: string }) => ({ userId: id }),
    )[0]!
    const { token } = (await world.operator('POST', '/operator/v1/tokens', { userId })).body
    const call = world.as(token)
    assert.equal((await call('POST', '/v10/projects', { name: 'web' })).status, 200)

    // The session ends in the middle of a form.
    await page.goto(`${origin}${NEW}`)
    await page.locator('[name=key]').fill('TOKEN')
    await page.locator('[name=value]').fill(SECRET)
    await context.clearCookies({ name: 'berth_session' })
    await page.locator('main form button:not([type=button])').last().click()
    await page.getByText('What you typed is kept').waitFor()
    await page.getByRole('link', { name: /Sign in by/ }).click()
    await page.getByRole('button', { name: 'Back to what you typed' }).click()
    await atTheForm()
    assert.deepEqual(
      [await page.locator('[name=key]').inputValue(), await page.locator('[name=value]').inputValue()],
      ['TOKEN', SECRET],
    )
    assert.deepEqual(await page.evaluate('Object.keys(sessionStorage)'), [], 'it is kept nowhere any more')
    assert.equal((await call('GET', '/v9/projects/web/env')).body.envs.length, 0, 'nothing was sent')

    // An authentication in the last hour is asked for in the middle of another one.
    await page.goto(`${origin}/console/account/tokens/new`)
    await page.locator('[name=name]').fill('kept over a reauthentication')
    world.deps.clock.set(world.deps.clock.now() + 61 * 60_000)
    await page.locator('main form button:not([type=button])').last().click()
    await page.getByText('What you typed is kept').waitFor()
    await page.getByRole('link', { name: /Confirm by/ }).click()
    await page.getByRole('button', { name: 'Back to what you typed' }).click()
    await atTheForm()
    assert.equal(await page.locator('[name=name]').inputValue(), 'kept over a reauthentication')

    // A user who comes there without a kept form reads so, and goes on.
    await page.goto(`${origin}/console/kept`)
    await page.getByText('nothing was saved').waitFor()
    await page.getByRole('link', { name: 'Go to the console' }).click()
    await page.waitForURL(/\/console\/t\/ada/)
    // A form that is carried on, and one that is shown again, are answered with 401, 403 and 422.
    assert.deepEqual(
      complaints.filter((one) => !/status of 4\d\d/.test(one)),
      [],
    )
  })
}
