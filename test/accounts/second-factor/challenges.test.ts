/** A challenge of a passkey: of one browser and purpose, for five minutes, once. Each check on its own, because over HTTP one hides the other. docs/sign-in-and-consent.md: Second factors. */
import assert from 'node:assert/strict'
import {
  type ChallengeCtx,
  consumeChallenge,
  createChallenge,
  createChallengeKey,
  isOwnChallenge,
} from '../../../src/accounts/second-factor/challenges.ts'
import { runTimer } from '../../../src/timers.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const FIVE_MINUTES_MS = 5 * 60_000

/** A browser that opens a page now. */
function browser({ deps }: World, csrfToken = 'here'): ChallengeCtx {
  return { db: deps.db.read, deps, now: deps.clock.now(), csrfToken }
}

async function make(asking: ChallengeCtx): Promise<string> {
  return Buffer.from((await createChallenge(asking, 'sign in'))!).toString('base64url')
}

onBothEngines('a challenge is of one browser and one purpose, and as it was made', async (world) => {
  await createChallengeKey(world.deps)
  const here = browser(world)
  const challenge = await make(here)
  assert.equal(await isOwnChallenge(here, 'sign in', challenge), true)
  for (const purpose of ['second step', 'confirm', 'register'] as const)
    assert.equal(await isOwnChallenge(here, purpose, challenge), false, purpose)
  assert.equal(await isOwnChallenge(browser(world, 'elsewhere'), 'sign in', challenge), false)
  const bytes = Buffer.from(challenge, 'base64url')
  for (let at = 0; at < bytes.length; at++) {
    const turned = Buffer.from(bytes)
    turned[at]! ^= 1
    assert.equal(await isOwnChallenge(here, 'sign in', turned.toString('base64url')), false, `byte ${at}`)
  }
  for (const other of [`${challenge}=`, `${challenge}AA`, challenge.slice(0, -1), challenge.slice(0, 30), '', ' '])
    assert.equal(await isOwnChallenge(here, 'sign in', other), false, other)
})

onBothEngines('a challenge that is five minutes old is none, before the transaction that accepts it', async (world) => {
  await createChallengeKey(world.deps)
  const here = browser(world)
  const challenge = await make(here)
  const later = (ms: number) => ({ ...here, now: here.now + ms })
  assert.equal(await isOwnChallenge(later(FIVE_MINUTES_MS - 1), 'sign in', challenge), true)
  assert.equal(await isOwnChallenge(later(FIVE_MINUTES_MS), 'sign in', challenge), false)
})

onBothEngines('a challenge that became five minutes old meanwhile is not accepted, nor twice', async (world) => {
  await createChallengeKey(world.deps)
  const here = browser(world)
  const [challenge, other] = [await make(here), await make(here)]
  const spend = (which: string, ms: number) =>
    world.deps.db.write((db) => consumeChallenge({ db, now: here.now + ms }, which))
  assert.equal(await spend(challenge, FIVE_MINUTES_MS), false)
  assert.deepEqual(await world.deps.db.read.selectFrom('spent_challenge').selectAll().execute(), [])
  assert.equal(await spend(challenge, FIVE_MINUTES_MS - 1), true)
  assert.equal(await spend(challenge, 0), false, 'it was used')
  const atOnce = await Promise.all([1, 2, 3, 4].map(() => spend(other, 0)))
  assert.deepEqual(atOnce.filter(Boolean), [true])
})

onBothEngines('a used challenge is not accepted after a sweep by a clock that is ahead', async (world) => {
  await createChallengeKey(world.deps)
  const here = browser(world)
  const challenge = await make(here)
  const spend = (ms: number) => world.deps.db.write((db) => consumeChallenge({ db, now: here.now + ms }, challenge))
  assert.equal(await spend(0), true)
  await runTimer(world.deps, 'spent-challenges', here.now + FIVE_MINUTES_MS + 30_000)
  assert.equal(await spend(FIVE_MINUTES_MS - 1), false)
  await runTimer(world.deps, 'spent-challenges', here.now + 3 * FIVE_MINUTES_MS)
  assert.deepEqual(await world.deps.db.read.selectFrom('spent_challenge').selectAll().execute(), [])
})
