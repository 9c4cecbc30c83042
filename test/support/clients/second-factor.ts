/** A user sets up one-time codes, as in a browser. */
import assert from 'node:assert/strict'
import { Secret, TOTP } from 'otpauth'
import type { World } from '../world.ts'
import { type Client, openClient, PASSWORD, type PageResponse } from './browser-client.ts'

export const FACTORS = '/console/account/security/factors'
const STEP_MS = 30_000

/** The app on a phone. */
export type AuthenticatorApp = {
  secret: string
  recovery: string[]
  /** An unused code: the clock moves half a minute first. */
  next(): string
  /** The current code, moved by this many steps. */
  code(steps?: number): string
}

/** The recovery codes on a page. */
export function recoveryCodesIn(page: PageResponse): string[] {
  return [...page.text.matchAll(/<code>(\w{4}-\w{4}-\w{4}-\w{4})<\/code>/g)].map(([, code]) => code!)
}

/** Sets up one-time codes in this browser, which is signed in. */
export async function setUpCodes(world: World, client: Client): Promise<AuthenticatorApp> {
  const { clock } = world.deps
  await client.get(FACTORS)
  assert.equal((await client.post(`${FACTORS}/codes/begin`)).location, `${FACTORS}/codes`)
  const page = await client.get(`${FACTORS}/codes`)
  const secret = /<code>([A-Z2-7 ]{39})<\/code>/.exec(page.text)![1]!.replaceAll(' ', '')
  const totp = new TOTP({ secret: Secret.fromBase32(secret), digits: 6, period: 30 })
  // A step begins, so that none ends while a slow machine types its code.
  const begin = () => clock.set(Math.ceil((clock.now() + 1) / STEP_MS) * STEP_MS)
  begin()
  const code = (steps = 0) => totp.generate({ timestamp: clock.now() + steps * STEP_MS })
  const confirmed = await client.post(`${FACTORS}/codes`, { code: code() })
  assert.equal(confirmed.status, 200, confirmed.text)
  const next = () => {
    begin()
    return code()
  }
  return { secret, recovery: recoveryCodesIn(confirmed), next, code }
}

/** A browser in which this user entered the password, and no second factor. */
export async function openClientAfterPassword(world: World, name = 'admin', password = PASSWORD): Promise<Client> {
  const client = openClient(world)
  await client.get('/sign-in')
  const answer = await client.post('/sign-in', { name, password })
  assert.equal(answer.location, '/sign-in/code?return=', answer.text.slice(-2000))
  assert.equal((await client.get(answer.location)).status, 200)
  return client
}
