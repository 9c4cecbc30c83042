/**
 * A walk through the console as a new user makes it, in a real Chromium over https, from the link of the first start on: with script, and
 * again without. To add a step, add a function to a table in test/console/tour/; it is called with what the steps before it left. With
 * BERTH_SCREENSHOTS=docs/images it takes the pictures of the pages again. docs/console.md: Browser tests.
 */
import { type TestContext, test } from 'node:test'
import { PASSWORD } from '../support/clients/browser-client.ts'
import { findChromium, openChromium } from '../support/clients/chromium.ts'
import { openUpstream } from '../support/clients/proxies.ts'
import { openTour } from '../support/clients/tour.ts'
import { skipReason } from '../support/programs.ts'
import { openAppSite } from '../support/servers/app-site.ts'
import { noCertificates, openCertificates } from '../support/servers/certificates.ts'
import { openDnsmasq } from '../support/servers/dnsmasq.ts'
import { LOCAL, receiver as openReceiver } from '../support/servers/receiver.ts'
import { openSmtp } from '../support/servers/smtp.ts'
import { ENGINES, type Engine, openWorld } from '../support/world.ts'
import { integrationSteps } from './tour/integration-steps.ts'
import { operatorSteps } from './tour/operator-steps.ts'
import { peopleSteps } from './tour/people-steps.ts'
import { projectSteps } from './tour/project-steps.ts'
import { EDGE_TOKEN, type Scene } from './tour/scene.ts'

const chromium = findChromium()
const STEPS = { ...projectSteps, ...peopleSteps, ...integrationSteps, ...operatorSteps }

async function walk(t: TestContext, engine: Engine, script: boolean): Promise<void> {
  if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'whether a new user finds their way'))
  if (noCertificates) return t.skip(skipReason('openssl', 'openssl', 'whether a new user finds their way'))
  const made = openCertificates(t).make('tour')
  const [dnsmasq, smtp, site, receiver] = [
    await openDnsmasq(),
    await openSmtp(),
    await openAppSite(made),
    await openReceiver(t),
  ]
  const upstream = await openUpstream(t)
  const world = await openWorld(engine, {
    ...LOCAL,
    BERTH_TLS_CERT: made.cert,
    BERTH_TLS_KEY: made.key,
    BERTH_DNS_SERVERS: dnsmasq.address,
    BERTH_EDGE_TOKEN: EDGE_TOKEN,
    BERTH_SMTP_URL: smtp.url,
    BERTH_MAIL_FROM: 'berth@example.com',
  })
  const browser = await openChromium(chromium)
  try {
    const origin = await world.listen()
    const isFirst = engine === 'sqlite'
    const tour = await openTour(browser, origin, { script, axe: isFirst, pictures: script && isFirst })
    for (const secret of [world.credentials.token, world.credentials.operatorToken, PASSWORD]) tour.secret(secret, /^$/)
    const scene: Omit<Scene, 't'> = { tour, world, dnsmasq, smtp, site, receiver, upstream }
    for (const [name, step] of Object.entries(STEPS)) await t.test(name, (t) => step(Object.assign(scene, { t })))
    tour.end()
  } finally {
    await browser.close()
    await world.close()
    await Promise.all([dnsmasq.close(), smtp.close(), site.close()])
  }
}

for (const engine of ENGINES)
  for (const script of [true, false])
    test(
      `a new user finds their way through the console, ${script ? 'with' : 'without'} script [${engine}]`,
      { timeout: 600_000 },
      (t) => walk(t, engine, script),
    )
