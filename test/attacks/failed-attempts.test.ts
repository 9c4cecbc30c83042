/** An attacker who guesses a client secret for as long as it takes: nothing is found, and no other client notices. docs/spec/reliability.md T19; docs/limits.md: Only failing clients wait. */
import assert from 'node:assert/strict'
import { newClientSecret } from '../../src/platform/base/ids.ts'
import { onBothEngines } from '../support/world.ts'
import { seedIntegration } from '../support/worlds/integration-world.ts'
import { FULL, sayFigure } from './form.ts'

const GUESSES = FULL ? 100_000 : 3000
const AT_ONCE = 50
/** Between two answers to right secrets; and the clock goes on, so that the count begins again now and then. */
const BETWEEN = 1000
const ATTACKER = '198.51.100.7'
const CUSTOMER = '203.0.113.9'

onBothEngines(
  'guessed client secrets are refused and then answered 429, and the right secret works from every address',
  async (world) => {
    const app = await seedIntegration(world)
    const ask = async (remoteAddress: string, client_secret: string) => {
      const payload = { client_id: app.clientId, client_secret, token: 'x' }
      const answer = await world.app.inject({ method: 'POST', url: '/v2/oauth/introspect', remoteAddress, payload })
      return answer.statusCode
    }
    const counts: Record<number, number> = {}
    let windows = 0
    for (let made = 0; made < GUESSES; made += AT_ONCE) {
      if (made % BETWEEN === 0) {
        world.deps.clock.set(world.deps.clock.now() + 61_000)
        windows++
      }
      const statuses = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, at) => ask(ATTACKER, guess(app.clientSecret, made + at))),
      )
      for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1
      if (made % BETWEEN !== BETWEEN - AT_ONCE) continue
      // The counter has tripped by now.
      assert.equal(await ask(ATTACKER, newClientSecret()), 429)
      for (const address of [CUSTOMER, ATTACKER]) assert.equal(await ask(address, app.clientSecret), 200, address)
    }
    assert.deepEqual(counts, { 401: 10 * windows, 429: GUESSES - 10 * windows })
    sayFigure(`client secrets [${world.engine}]: ${GUESSES} guesses, 0 right, ${counts[429]} of them answered 429`)
  },
  { BERTH_RATE_LIMITS: 'on' },
)

/** At random, or as close to the right one as can be: cut, longer, in another case, with one letter changed. */
function guess(right: string, at: number): string {
  const place = at % right.length
  const other = right[place] === 'A' ? 'B' : 'A'
  const near = [
    `${right.slice(0, place)}${other}${right.slice(place + 1)}`,
    right.slice(0, place) || ' ',
    `${right}${at}`,
    right.toLowerCase(),
  ]
  return at % 2 === 0 ? newClientSecret() : near[Math.floor(at / 2) % near.length]!
}
