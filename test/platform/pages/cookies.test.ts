/** Which cookies are accepted: RFC 6265 octets, names compared exactly. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readCookies } from '../../../src/platform/pages/cookies.ts'
import { openClient, openSignedInClient } from '../../support/clients/browser-client.ts'
import { onBothEngines } from '../../support/world.ts'

const ORIGIN = 'https://berth.example'
const SECRET = 'a'.repeat(43)
const OTHER = 'b'.repeat(43)
const NAME = '__Host-berth_session'

const sessionIn = (cookie: string, origin = ORIGIN) => readCookies(['Cookie', cookie], origin).session

test('a cookie counts when its name is exactly ours; around it spaces and tabs are passed over, and no other character', () => {
  for (const good of [
    `${NAME}=${SECRET}`,
    `a=b; ${NAME}=${SECRET}`,
    `;; \t${NAME}=${SECRET} \t; c`,
    `x;${NAME}=${SECRET}`,
  ])
    assert.equal(sessionIn(good), SECRET, good)
  assert.equal(sessionIn(`berth_session=${SECRET}`, 'http://localhost:3000'), SECRET)
  const names = [
    ...['\xa0', '\x85', '\ufeff', '\u2028', '\u3000', '\v', '\f', '\r', '\n', '"', '$', '=', '\xad', '\x00'].flatMap(
      (odd) => [`${odd}${NAME}`, `${NAME}${odd}`, ` ${odd} ${NAME}`],
    ),
    `${NAME} `,
    NAME.toLowerCase(),
    NAME.toUpperCase(),
    'berth_session',
    '__Secure-berth_session',
    `x${NAME}`,
  ]
  for (const name of names) assert.equal(sessionIn(`${name}=${SECRET}`), undefined, JSON.stringify(name))
  for (const value of [`\xa0${SECRET}`, `${SECRET}\xa0`, `"${SECRET}"`, `${SECRET}=`, `${SECRET}a`, ''])
    assert.equal(sessionIn(`${NAME}=${value}`), undefined, JSON.stringify(value))
})

test('a planted cookie under a name that is nearly ours neither replaces a session nor takes it away', () => {
  for (const planted of [
    `\xa0${NAME}=${OTHER}`,
    `${NAME}\xa0=${OTHER}`,
    `__host-berth_session=${OTHER}`,
    `berth_session=${OTHER}`,
    NAME,
  ])
    for (const cookie of [`${planted}; ${NAME}=${SECRET}`, `${NAME}=${SECRET}; ${planted}`])
      assert.equal(sessionIn(cookie), SECRET, JSON.stringify(cookie))
})

test('of two cookies with our very name neither counts, and nothing is read of two Cookie headers', () => {
  assert.equal(sessionIn(`${NAME}=${SECRET}; ${NAME}=${OTHER}`), undefined)
  assert.equal(sessionIn(`${NAME}=; ${NAME}=${SECRET}`), undefined)
  assert.equal(readCookies(['Cookie', `${NAME}=${SECRET}`, 'cookie', 'a=b'], ORIGIN).session, undefined)
})

onBothEngines(
  'a sub-domain that plants a cookie behind a no-break space signs no user in as the attacker, and no user out',
  async (world) => {
    const attacker = await openSignedInClient(world)
    const planted = `\xa0${NAME}=${attacker.cookies.get(NAME)!}`
    const shown = async (cookie: string) => (await openClient(world).get('/integrations/installed', { cookie })).status
    assert.equal(await shown(`${NAME}=${attacker.cookies.get(NAME)!}`), 200)
    assert.equal(await shown(planted), 303)
    assert.equal(await shown(`${NAME}=${attacker.cookies.get(NAME)!}; ${planted}`), 200)
  },
  { BERTH_PUBLIC_URL: ORIGIN },
)
