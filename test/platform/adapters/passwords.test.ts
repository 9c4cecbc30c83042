/** Passwords are hashed in a fair queue: few at once, and no owner waits behind all of another. docs/limits.md: Password hashing. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createHashTurns, type HashOwner } from '../../../src/platform/adapters/hash-turns.ts'
import { openClient, openSignedInClient, PASSWORD, seedPassword } from '../../support/clients/browser-client.ts'
import { seedProject } from '../../support/projects.ts'
import { root } from '../../support/root.ts'
import { onBothEngines, type World } from '../../support/world.ts'

/** Turns whose work ends on demand: `end` ends the one that began first, and `begun` has the names in the order of their start. */
function watchedTurns(longestWaitMs?: number) {
  const inTurn = createHashTurns(longestWaitMs)
  const begun: string[] = []
  const running: (() => void)[] = []
  const hash = (name: string, owner: HashOwner) =>
    inTurn(owner, () => {
      begun.push(name)
      return new Promise<string>((resolve) => running.push(() => resolve(name)))
    })
  const end = async () => {
    running.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { hash, begun, running, end }
}

test('two passwords are hashed at a time; unknown clients, known accounts and sites take turns, and so do the owners of each', async () => {
  const { hash, begun, running, end } = watchedTurns()
  const all: Promise<string | undefined>[] = []
  const add = (name: string, owner: HashOwner) => all.push(hash(name, owner))
  for (let at = 0; at < 60; at++) add(`a${at}`, { kind: 'stranger', owner: '192.0.2.1' })
  for (let at = 0; at < 60; at++) add(`b${at}`, { kind: 'stranger', owner: '192.0.2.2' })
  for (let at = 0; at < 60; at++) add(`x${at}`, { kind: 'account', owner: 'team_x' })
  add('y', { kind: 'account', owner: 'team_y' })
  add('c', { kind: 'stranger', owner: '192.0.2.3' })
  for (const [site, address] of [
    ['s', 'v'],
    ['s', 'v'],
    ['s', 'w'],
    ['t', 'v'],
  ] as const)
    add(`${site}${address}`, { kind: 'site', owner: site, address })
  await end()
  while (begun.length < 16) {
    assert.ok(running.length <= 2)
    await end()
  }
  const ofStrangers = begun.filter((name) => /[abc]/.test(name))
  assert.deepEqual(ofStrangers.slice(0, 6), ['a0', 'a1', 'a2', 'b0', 'c', 'a3'])
  assert.deepEqual(begun.filter((name) => /[xy]/.test(name)).slice(0, 3), ['x0', 'y', 'x1'])
  assert.deepEqual(
    begun.filter((name) => /[st]/.test(name)),
    ['sv', 'tv', 'sw', 'sv'],
  )
  assert.ok(begun.indexOf('y') < 8 && begun.indexOf('tv') < 10, begun.join(' '))
  while (running.length > 0) await end()
  assert.equal(
    (await Promise.all(all)).every((name) => name !== undefined),
    true,
  )
})

test('the queue of an owner, and of one address of it, is bounded; what is above it or waits too long is rejected', async () => {
  const { hash, begun, running, end } = watchedTurns(50)
  const stranger: HashOwner = { kind: 'stranger', owner: '192.0.2.1' }
  const all = Array.from({ length: 67 }, (_, at) => hash(`s${at}`, stranger))
  const visitor = Array.from({ length: 17 }, () => hash('v', { kind: 'site', owner: 'site', address: '192.0.2.1' }))
  assert.equal(await all.at(-1), undefined, 'two run and 64 wait')
  assert.equal(await visitor.at(-1), undefined, '16 wait')
  assert.equal(begun.length, 2)
  // None of them is admitted, and their wait times out.
  assert.deepEqual(
    (await Promise.all([...all.slice(2), ...visitor])).every((name) => name === undefined),
    true,
  )
  const next = hash('next', stranger)
  await end()
  assert.deepEqual(begun, ['s0', 's1', 'next'])
  while (running.length > 0) await end()
  assert.deepEqual(await Promise.all([all[0], all[1], next]), ['s0', 's1', 'next'])
})

test('work that fails gives its turn to the next one', async () => {
  const inTurn = createHashTurns()
  const owner: HashOwner = { kind: 'account', owner: 'one' }
  const failed = Array.from({ length: 5 }, () => inTurn(owner, () => Promise.reject(new Error('no memory'))))
  for (const one of failed) await assert.rejects(one, /no memory/)
  assert.equal(await inTurn(owner, async () => 'done'), 'done')
})

test('nothing but the turns hashes a password', () => {
  const sources = globSync('src/**/*.ts', { cwd: root })
  const having = (what: RegExp) => sources.filter((path) => what.test(readFileSync(join(root, path), 'utf8')))
  // A copy of the keyring is sealed and opened by commands, not by the service.
  assert.deepEqual(having(/\b(argon2|scrypt|pbkdf2)(Sync)?\b[^']*from 'node:crypto'/).sort(), [
    'src/platform/adapters/argon2.ts',
    'src/platform/secrets/keyring-copy.ts',
  ])
  assert.deepEqual(having(/from '[./\w]*argon2\.ts'/), ['src/platform/adapters/passwords.ts'])
  assert.deepEqual(having(/\bopenPasswords\(/).sort(), [
    'src/platform/adapters/adapters.ts',
    'src/platform/adapters/passwords.ts',
  ])
})

/** A wrong password at the sign-in, from an address. */
async function guess(
  world: World,
  remoteAddress: string,
  { cookie, form }: { cookie: string; form: string },
  at: number,
) {
  const payload = new URLSearchParams({ form, name: 'nobody', password: `wrong password ${at}` }).toString()
  const headers = { cookie, 'content-type': 'application/x-www-form-urlencoded' }
  const answer = await world.app.inject({ method: 'POST', url: '/sign-in', remoteAddress, headers, payload })
  return answer.statusCode
}

onBothEngines(
  'wrong passwords from many addresses delay no known account, no signed-in user and no other unauthenticated client',
  async (world) => {
    await seedProject(world, 'web')
    const person = await openSignedInClient(world)
    await person.get('/confirm')
    const other = await world.user('other')
    await seedPassword(world, other.id)
    const visitor = openClient(world)
    await visitor.get('/sign-in')
    const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    let left = 200
    const guesses = Array.from({ length: left }, (_, at) =>
      guess(world, `198.51.100.${at % 4}`, { cookie, form: visitor.token() }, at).then((status) => {
        left--
        return status
      }),
    )
    await Promise.race(guesses)
    const passwordProtection = { deploymentType: 'all', password: 'one' }
    assert.equal((await world.call('PATCH', '/v9/projects/web', { passwordProtection })).status, 200)
    const leftAfterAccount = left
    assert.equal((await person.post('/confirm', { password: PASSWORD })).status, 303)
    const leftAfterPerson = left
    assert.equal((await visitor.post('/sign-in', { name: 'other', password: PASSWORD })).status, 303)
    const seen = [leftAfterAccount, leftAfterPerson, left]
    assert.ok(
      seen.every((count) => count > 100),
      `guesses that still waited: ${seen}`,
    )
    // 429: of those that waited for ten seconds.
    assert.deepEqual(
      (await Promise.all(guesses)).filter((status) => status !== 403 && status !== 429),
      [],
    )
  },
)

onBothEngines('one account that sets passwords of projects delays no other', async (world) => {
  await seedProject(world, 'web')
  const other = await world.user('other')
  assert.equal((await other.call('POST', '/v10/projects', { name: 'theirs' })).status, 200)
  const protect = { passwordProtection: { deploymentType: 'all', password: 'one' } }
  let left = 30
  const flood = Array.from({ length: left }, () =>
    world.call.try('PATCH', '/v9/projects/web', protect).then(({ status }) => {
      left--
      return status
    }),
  )
  await Promise.race(flood)
  assert.equal((await other.call('PATCH', '/v9/projects/theirs', protect)).status, 200)
  assert.ok(left > 15, `${left} still waited`)
  assert.deepEqual([...new Set(await Promise.all(flood))], [200])
})
