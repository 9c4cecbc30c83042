/** An open page in a real Chromium shows that a domain was verified: on PostgreSQL by another instance. docs/console.md: Live updates. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { findChromium, openChromium, openWindow } from '../../support/clients/chromium.ts'
import { eventually } from '../../support/eventually.ts'
import { skipReason } from '../../support/programs.ts'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { ENGINES, type Engine, newDatabase, openWorld, type World } from '../../support/world.ts'
import { claim } from '../../support/worlds/domain-world.ts'

const chromium = findChromium()

/** The service of the page, and the one that verifies: another instance where there may be one. */
async function openInstances(engine: Engine, BERTH_DNS_SERVERS: string): Promise<[World, World]> {
  if (engine === 'sqlite') {
    const world = await openWorld(engine, { BERTH_DNS_SERVERS })
    return [world, world]
  }
  const DATABASE_URL = await newDatabase()
  const one = await openWorld(engine, { BERTH_DNS_SERVERS, DATABASE_URL })
  const BERTH_KEYS = join(one.folder, 'keys.json')
  return [one, await openWorld(engine, { BERTH_DNS_SERVERS, DATABASE_URL, BERTH_KEYS })]
}

for (const engine of ENGINES) {
  test(`an open page shows that a domain was verified elsewhere [${engine}]`, { timeout: 300_000 }, async (t) => {
    if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'domains that tick on an open page'))
    // The browser goes first, so that nothing waits for its connections.
    const browser = await openChromium(chromium)
    t.after(() => browser.close())
    const dns = await startDnsServer()
    t.after(() => dns.close())
    const [shown, proving] = await openInstances(engine, dns.address)
    t.after(() => Promise.all([shown.close(), proving.close()]))
    const name = 'ticks.com'
    const { prove } = await claim(dns, proving.as(shown.credentials.token), name)
    const origin = await shown.listen()
    const client = await openSignedInClient(shown)
    const { context, page, complaints } = await openWindow(browser, 1280, true)
    await context.addCookies([...client.cookies].map(([name, value]) => ({ name, value, url: origin })))
    const textOf = () => page.textContent('main').then((text) => text ?? '')

    await page.goto(`${origin}/console/t/admin/projects/web/domains/${name}`)
    assert.match(await textOf(), /Verify ownership/)
    await eventually(async () => /^berth_live_pages 1$/m.test((await shown.operator('GET', '/metrics')).text))
    await page.evaluate('window.mark = "not loaded again"')
    await prove()
    await eventually(async () => !(await textOf()).includes('Verify ownership'))
    assert.match(await textOf(), /Verified/)
    assert.equal(await page.evaluate('window.mark'), 'not loaded again')
    assert.deepEqual(complaints, [])
  })
}
