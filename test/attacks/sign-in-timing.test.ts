/**
 * What the time of an answer reveals about the sign-in methods: links, codes, passkeys, and what a provider sends back. In the full form only. Wrong
 * passwords are left out: each takes one argon2id, whose time hides all else. docs/threats.md: Timing attacks.
 */
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { randomText } from '../../src/platform/base/ids.ts'
import { openAuthenticator, optionsIn } from '../support/clients/authenticator.ts'
import { type Client, openClient, openSignedInClient } from '../support/clients/browser-client.ts'
import { FACTORS, openClientAfterPassword, setUpCodes } from '../support/clients/second-factor.ts'
import { startStandIn } from '../support/servers/identity-provider.ts'
import { openWorld, type World } from '../support/world.ts'
import { FULL, sayFigure } from './form.ts'
import { type Kind, many, mustNotTell } from './paired.ts'

/** A query more takes longer than the least. */
const FINENESS = { pairs: 1600, leastUs: 20, controlUs: 150 }
const ORIGIN = 'https://berth.example'

// On SQLite alone: PostgreSQL is another process, and on a busy machine its noise hides what takes less than some milliseconds.
if (FULL)
  test('the time of an answer reveals nothing about links, codes, passkeys and answers of a provider that are nearly right', async (t) => {
    const standIn = await startStandIn()
    t.after(() => standIn.close())
    const world = await openWorld('sqlite', { ...standIn.settings, BERTH_PUBLIC_URL: ORIGIN })
    world.deps.log.level = 'silent'
    try {
      await mustNotTell(world, await kindsOf(world), FINENESS)
    } finally {
      await world.close()
    }
  })
else
  sayFigure(
    'timing of the sign-in: LEFT OUT of the short form, because a few samples show nothing; npm run test:attacks',
  )

async function kindsOf(world: World): Promise<[Kind, Kind][]> {
  const { welcome, reset } = await linksOf(world)
  const { half, recovery, deviceId, answer, visitor } = await openPeople(world)
  const begun = await visitor.get('/sign-in/sso')
  const [payload, signature] = new URL(begun.location).searchParams.get('state')!.split('.') as [string, string]
  const callback = '/sign-in/sso/callback?code=x&state='
  const ofCode = (name: string, said: () => string) => sending(name, half, '/sign-in/code', () => ({ code: said() }))
  const ofPasskey = (name: string, id: () => string) =>
    sending(name, visitor, '/sign-in/passkey', () => ({ answer: answer.replaceAll(deviceId, id()) }))
  return [
    [
      opening('welcome link nearly right', visitor, () => `/welcome?link=${nearly(welcome)}`),
      opening('at random', visitor, () => `/welcome?link=${random(welcome)}`),
    ],
    [
      opening('link that sets a password nearly right', visitor, () => `/set-password?link=${nearly(reset)}`),
      opening('at random', visitor, () => `/set-password?link=${random(reset)}`),
    ],
    [
      opening('state of the provider nearly right', visitor, () => `${callback}${payload}.${nearly(signature)}`),
      opening('signed at random', visitor, () => `${callback}${payload}.${random(signature)}`),
    ],
    [ofCode('recovery code nearly right', () => nearly(recovery)), ofCode('at random', () => random(recovery))],
    [
      ofCode('code of zeros', () => `00000${digit()}`),
      ofCode('at random', () => Array.from({ length: 6 }, digit).join('')),
    ],
    [
      ofPasskey('passkey with an id nearly right', () => nearly(deviceId)),
      ofPasskey('at random', () => random(deviceId)),
    ],
  ]
}

/** The secrets of two links that work. The first user has one of the first start, another user one that sets a password. */
async function linksOf(world: World) {
  const person = await world.user('ada')
  const { body } = await world.operator('POST', `/operator/v1/users/${person.id}/password-link`)
  const secretIn = (url: string) => new URL(url, ORIGIN).searchParams.get('link')!
  return { welcome: secretIn(world.credentials.welcome), reset: secretIn(body.url) }
}

/** A user has codes and a passkey. One browser waits for the second step; one is new, and has an answer of the passkey to its challenge. */
async function openPeople(world: World) {
  const client = await openSignedInClient(world, (await world.user('bea')).id, 'bea')
  const phone = await setUpCodes(world, client)
  const device = openAuthenticator(ORIGIN)
  await client.post(`${FACTORS}/passkeys`, { answer: device.create(optionsIn(await client.get(FACTORS))), name: 'One' })
  const half = await openClientAfterPassword(world, 'bea')
  const visitor = openClient(world)
  const answer = device.get(optionsIn(await visitor.get('/sign-in')))
  return { half, visitor, answer, deviceId: device.id(), recovery: phone.recovery[0]! }
}

function opening(name: string, client: Client, url: () => string): Kind {
  return { name, requests: many(() => ({ method: 'GET', url: url(), headers: { cookie: cookieOf(client) } })) }
}

function sending(name: string, client: Client, url: string, fields: () => Record<string, string>): Kind {
  const headers = { cookie: cookieOf(client), 'content-type': 'application/x-www-form-urlencoded' }
  const payload = () => new URLSearchParams({ form: client.token(), ...fields() }).toString()
  return { name, requests: many(() => ({ method: 'POST', url, headers, payload: payload() })) }
}

function cookieOf({ cookies }: Client): string {
  return [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
}

/** Right but for the last letters; made as the other kind is, so that the texts differ in nothing else. */
function nearly(right: string): string {
  return Buffer.from(right.slice(0, -4) + randomText(4)).toString('latin1')
}

function random(right: string): string {
  return Buffer.from(randomText(right.length - 4) + randomText(4)).toString('latin1')
}

function digit(): string {
  return String(randomBytes(1)[0]! % 10)
}
