/** Passkeys (WebAuthn): registration and assertions. docs/sign-in-and-consent.md: Second factors. */
import { isIP } from 'node:net'
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import type { OperatorCtx } from '../../context.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import {
  type ChallengeCtx,
  consumeChallenge,
  createChallenge,
  isOwnChallenge,
  type PasskeyPurpose,
} from './challenges.ts'

export const MAX_PASSKEYS = 20

/** A valid assertion, verified before the transaction that accepts it. */
export type PasskeyAssertion = { challenge: string; passkey: Row<'passkey'>; counter: number }
/** A valid registration, verified before the transaction that stores it. */
export type PasskeyRegistration = {
  challenge: string
  row: Pick<Row<'passkey'>, 'id' | 'public_key' | 'counter' | 'transports_json'>
}

/** Loaded on first use, because it loads slowly and many instances never need it. */
function library() {
  return import('@simplewebauthn/server')
}

/** Returns the creation options as JSON, excluding the passkeys that the user has. */
export async function registrationOptions(
  ctx: ChallengeCtx,
  { userId, username }: { userId: string; username: string },
) {
  const challenge = await createChallenge(ctx, 'register')
  if (challenge === undefined) return undefined
  const { generateRegistrationOptions } = await library()
  const own = await listPasskeys(ctx.db, userId)
  const options = await generateRegistrationOptions({
    rpName: 'Berth',
    rpID: rpIdOf(ctx),
    userName: username,
    userID: new TextEncoder().encode(userId),
    challenge,
    excludeCredentials: own.map(({ id, transports_json }) => ({ id, transports: JSON.parse(transports_json) })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
  return JSON.stringify(options)
}

/**
 * Returns the request options as JSON; undefined when no passkey exists. Without `userId` the browser offers its own passkeys, so the page does not
 * reveal which users have one.
 */
export async function assertionOptions(
  ctx: ChallengeCtx,
  purpose: PasskeyPurpose,
  userId?: string,
): Promise<string | undefined> {
  const own = userId === undefined ? [] : await listPasskeys(ctx.db, userId)
  if (userId !== undefined && own.length === 0) return undefined
  const challenge = await createChallenge(ctx, purpose)
  if (challenge === undefined) return undefined
  // Built by hand: the library takes up to a second to load, and the sign-in page needs these options.
  const options: PublicKeyCredentialRequestOptionsJSON = {
    rpId: rpIdOf(ctx),
    challenge: Buffer.from(challenge).toString('base64url'),
    timeout: 60_000,
    userVerification: 'required',
    allowCredentials: own.map(({ id, transports_json }) => ({
      id,
      type: 'public-key',
      transports: JSON.parse(transports_json),
    })),
  }
  return JSON.stringify(options)
}

/** Verifies the response to `registrationOptions`. Undefined when invalid. */
export async function checkRegistration(ctx: ChallengeCtx, answer: string): Promise<PasskeyRegistration | undefined> {
  const response = parsed<RegistrationResponseJSON>(answer)
  const challenge = await challengeIn(ctx, 'register', response)
  if (response === undefined || challenge === undefined) return undefined
  const { verifyRegistrationResponse } = await library()
  const verified = await unlessRefused(() =>
    verifyRegistrationResponse({ response, expectedChallenge: challenge, ...expected(ctx) }),
  )
  if (!verified?.verified) return undefined
  const { id, publicKey, counter, transports = [] } = verified.registrationInfo.credential
  const public_key = Buffer.from(publicKey).toString('base64url')
  return { challenge, row: { id, public_key, counter, transports_json: JSON.stringify(transports) } }
}

/** Verifies the response to `assertionOptions`. Undefined when invalid. Requires user verification by the passkey (PIN, fingerprint, face). */
export async function verifyAssertion(
  ctx: ChallengeCtx,
  purpose: PasskeyPurpose,
  answer: string,
): Promise<PasskeyAssertion | undefined> {
  const response = parsed<AuthenticationResponseJSON>(answer)
  const challenge = await challengeIn(ctx, purpose, response)
  if (response === undefined || challenge === undefined || typeof response.id !== 'string') return undefined
  const passkey = await ctx.db.selectFrom('passkey').selectAll().where('id', '=', response.id).executeTakeFirst()
  if (passkey === undefined || !isHandleOf(response, passkey.user_id)) return undefined
  const { verifyAuthenticationResponse } = await library()
  const credential = {
    id: passkey.id,
    publicKey: new Uint8Array(Buffer.from(passkey.public_key, 'base64url')),
    counter: passkey.counter,
  }
  const verified = await unlessRefused(() =>
    verifyAuthenticationResponse({ response, expectedChallenge: challenge, credential, ...expected(ctx) }),
  )
  return verified?.verified ? { challenge, passkey, counter: verified.authenticationInfo.newCounter } : undefined
}

/**
 * Consumes an assertion and returns its user. Undefined when the challenge was used, the passkey was deleted, or its counter advanced, which
 * indicates a cloned passkey (WebAuthn 6.1.1).
 */
export async function consumeAssertion(
  ctx: Pick<OperatorCtx, 'db' | 'now'>,
  proof: PasskeyAssertion | undefined,
): Promise<string | undefined> {
  if (proof === undefined || !(await consumeChallenge(ctx, proof.challenge))) return undefined
  const { passkey, counter } = proof
  const used = await ctx.db
    .updateTable('passkey')
    .set({ counter, used_at: ctx.now })
    .where('id', '=', passkey.id)
    .where('public_key', '=', passkey.public_key)
    .where((eb) => eb.or([eb('counter', '<', counter), eb.and([eb('counter', '=', 0), eb.val(counter === 0)])]))
    .returning('user_id')
    .executeTakeFirst()
  return used?.user_id
}

/** Stores a new passkey. False when the challenge was used, the passkey exists or the user has the maximum number. */
export async function addPasskey(
  ctx: Pick<OperatorCtx, 'db' | 'now'>,
  userId: string,
  name: string,
  { challenge, row }: PasskeyRegistration,
): Promise<boolean> {
  if (!(await consumeChallenge(ctx, challenge))) return false
  if ((await listPasskeys(ctx.db, userId)).length >= MAX_PASSKEYS) return false
  const added = await ctx.db
    .insertInto('passkey')
    .values({ ...row, user_id: userId, name, created_at: ctx.now, used_at: null })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id')
    .executeTakeFirst()
  return added !== undefined
}

/** Lists the passkeys of a user, oldest first. */
export function listPasskeys(db: Queries, userId: string): Promise<Row<'passkey'>[]> {
  return db
    .selectFrom('passkey')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .limit(MAX_PASSKEYS)
    .execute()
}

/** Renames a passkey. False when the user has no such passkey. */
export async function renamePasskey(db: Queries, userId: string, id: string, name: string): Promise<boolean> {
  const mine = db.updateTable('passkey').set({ name }).where('id', '=', id).where('user_id', '=', userId)
  return (await mine.returning('id').executeTakeFirst()) !== undefined
}

/** Removes a passkey and returns its name. Undefined when the user has no such passkey. */
export async function removePasskey(db: Queries, userId: string, id: string): Promise<string | undefined> {
  const mine = db.deleteFrom('passkey').where('id', '=', id).where('user_id', '=', userId)
  return (await mine.returning('name').executeTakeFirst())?.name
}

function expected(ctx: ChallengeCtx) {
  const { origin, hostname } = new URL(ctx.deps.origin())
  return { expectedOrigin: origin, expectedRPID: hostname, requireUserVerification: true }
}

/** Browsers bind a passkey to the host of the pages. */
function rpIdOf({ deps }: Pick<ChallengeCtx, 'deps'>): string {
  return new URL(deps.origin()).hostname
}

/** Whether browsers allow passkeys here: they require https and a host name, or localhost. */
export function arePasskeysPossible({ deps }: Pick<ChallengeCtx, 'deps'>): boolean {
  const { protocol, hostname } = new URL(deps.origin())
  return hostname === 'localhost' || (protocol === 'https:' && isIP(hostname.replace(/^\[|\]$/g, '')) === 0)
}

/** Returns the challenge when it belongs to this browser and purpose and the page was not in a cross-origin frame. */
async function challengeIn(
  ctx: ChallengeCtx,
  purpose: PasskeyPurpose,
  response: { response?: { clientDataJSON?: unknown } } | undefined,
): Promise<string | undefined> {
  const text = response?.response?.clientDataJSON
  if (typeof text !== 'string') return undefined
  const clientData = parsed<{ challenge?: unknown; crossOrigin?: unknown }>(Buffer.from(text, 'base64url').toString())
  // Pages of Berth are never framed by other sites (WebAuthn level 3, 7.2), and the library does not check it.
  if (clientData === undefined || clientData.crossOrigin === true) return undefined
  const { challenge } = clientData
  if (typeof challenge !== 'string' || !(await isOwnChallenge(ctx, purpose, challenge))) return undefined
  return challenge
}

/** A user handle in the response must name the user of the passkey (WebAuthn 7.2, step 6). */
function isHandleOf({ response }: AuthenticationResponseJSON, userId: string): boolean {
  const handle: unknown = response.userHandle
  return handle == null || (typeof handle === 'string' && Buffer.from(handle, 'base64url').toString() === userId)
}

function parsed<T>(text: string): T | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as T) : undefined
  } catch {
    return undefined
  }
}

/** The library throws for every invalid response. */
async function unlessRefused<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch {
    return undefined
  }
}
