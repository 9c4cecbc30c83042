/**
 * The provider of single sign-on, over `openid-client`: OpenID Connect Core 1.0, code flow with PKCE (RFC 7636) and `iss` (RFC 9207). The
 * signature of every ID token is checked. The library is loaded at the first sign-in.
 */
import type { Configuration } from 'openid-client'
import type { SingleSignOnSettings } from '../../config.ts'
import { discover, isNamed, type Library, namesOf } from './openid/discovery.ts'

/** A person, as the provider vouches for them. */
export type IdentityClaims = {
  /** `iss` of the ID token, which is the name of the provider however a setting spells it. */
  issuer: string
  /** Other names by which the provider may stand in the store: with and without a last slash, and what the setting says. */
  alsoNamed: string[]
  sub: string
  /** As the provider wrote it. */
  email: string | undefined
  emailVerified: boolean
  name: string | undefined
  username: string | undefined
  /** Undefined: the provider said nothing of groups. */
  groups: string[] | undefined
  /** With it the provider is asked later whether it still vouches for the person. */
  refreshToken: string | undefined
}

/** What ties an answer to the request of this browser: three values that only this browser's requests have. */
export type AuthorizationState = { state: string; nonce: string; verifier: string }

export type IdentityProvider = {
  /** How people know it: its host. */
  name: string
  /** Where the browser goes. `again`: the person has to prove anew that it is them. Throws ProviderError. */
  addressOf(redirectUri: string, tie: AuthorizationState, again: boolean): Promise<string>
  /** Redeems what the browser brought back. Throws ProviderError. */
  redeem(url: URL, tie: AuthorizationState, again: boolean): Promise<IdentityClaims>
  /** Whether this is the provider of an issuer in the store. Throws ProviderError when it does not answer. */
  isNamed(issuer: string): Promise<boolean>
  /** Asks whether the provider still vouches for somebody. Undefined: it does not. Throws ProviderError when it does not answer. */
  refresh(refreshToken: string, caller: Pick<IdentityClaims, 'issuer' | 'sub'>): Promise<IdentityClaims | undefined>
}

/** Why there is no answer that counts. `away`: the provider could not be asked; else it said no, or its answer was wrong. */
export class ProviderError extends Error {
  readonly unavailable: boolean
  constructor(message: string, away: boolean, cause: unknown) {
    super(message, { cause })
    this.unavailable = away
  }
}

/** A proof anew is one of the last minutes: the person may take a while on the way back. */
const AGAIN_S = 300
/** A provider may change its keys and addresses; what it said of itself is read again after so long. */
const CONFIGURATION_MS = 3_600_000

type Claims = Record<string, unknown>

/** Opens the provider that the settings name. It is asked nothing before somebody signs in. */
export function openIdentityProvider(settings: SingleSignOnSettings): IdentityProvider {
  const { issuer } = settings
  let known: { config: Promise<Configuration>; until: number } | undefined
  const configured = (library: Library): Promise<Configuration> => {
    const now = performance.now()
    if (known === undefined || known.until < now)
      known = { config: discover(library, settings), until: now + CONFIGURATION_MS }
    const mine = known
    return mine.config.catch((error) => {
      if (known === mine) known = undefined
      throw error
    })
  }
  const asking = async <T>(use: (asked: Asked) => Promise<T>): Promise<T> => {
    const library = await import('openid-client')
    try {
      return await use({ library, settings, config: await configured(library) })
    } catch (error) {
      throw faultOf(library, error)
    }
  }
  return {
    name: new URL(issuer).host,
    addressOf: (redirectUri, tie, again) => asking((asked) => addressOf(asked, redirectUri, tie, again)),
    redeem: (url, tie, again) => asking((asked) => redeem(asked, url, tie, again)),
    isNamed: (named) => asking(async ({ config, settings }) => isNamed(config, settings, named)),
    refresh: (refreshToken, caller) =>
      asking((asked) => refresh(asked, refreshToken, caller)).catch((error) => {
        if (error instanceof ProviderError && isGone(error.cause)) return undefined
        throw error
      }),
  }
}

type Named = Pick<IdentityClaims, 'issuer' | 'sub'>
type Asked = { library: Library; config: Configuration; settings: SingleSignOnSettings }

async function addressOf(
  { library, config, settings }: Asked,
  redirectUri: string,
  { state, nonce, verifier }: AuthorizationState,
  again: boolean,
): Promise<string> {
  const code_challenge = await library.calculatePKCECodeChallenge(verifier)
  const scope = scopeOf(config, settings)
  const about = { redirect_uri: redirectUri, scope, state, nonce, code_challenge, code_challenge_method: 'S256' }
  // OpenID Connect Core 1.0, 11: a provider gives a refresh token only when the person is asked for it.
  const prompt = again ? 'login' : scope.includes('offline_access') ? 'consent' : undefined
  const asked = { ...about, ...(prompt && { prompt }), ...(again && { max_age: '0' }) }
  return library.buildAuthorizationUrl(config, asked).href
}

async function redeem(
  asked: Asked,
  url: URL,
  { state, nonce, verifier }: AuthorizationState,
  again: boolean,
): Promise<IdentityClaims> {
  const tokens = await asked.library.authorizationCodeGrant(asked.config, url, {
    pkceCodeVerifier: verifier,
    expectedState: state,
    expectedNonce: nonce,
    idTokenExpected: true,
    ...(again && { maxAge: AGAIN_S }),
  })
  const { iss } = tokens.claims()!
  const claims = await withUserinfo(asked, tokens.access_token, tokens.claims()!)
  return vouchedBy(asked.settings, { ...claims, iss }, tokens.refresh_token)
}

/** An ID token of a refresh is of the same issuer and person (OpenID Connect Core 1.0, 12.2); not every provider sends one. */
async function refresh(asked: Asked, refreshToken: string, { issuer, sub }: Named): Promise<IdentityClaims> {
  const tokens = await asked.library.refreshTokenGrant(asked.config, refreshToken)
  const { iss = issuer } = tokens.claims() ?? {}
  if ((tokens.claims()?.sub ?? sub) !== sub) throw new Error('the ID token is of somebody else')
  const claims = await withUserinfo(asked, tokens.access_token, { ...tokens.claims(), sub })
  return vouchedBy(asked.settings, { ...claims, iss }, tokens.refresh_token ?? refreshToken)
}

function scopeOf(config: Configuration, { scope }: SingleSignOnSettings): string {
  if (scope !== undefined) return scope
  const offered = config.serverMetadata().scopes_supported ?? []
  return ['openid', 'email', 'profile', ...['groups', 'offline_access'].filter((one) => offered.includes(one))].join(
    ' ',
  )
}

/** The claims with those that only the userinfo endpoint tells, when email or groups are not among them. */
async function withUserinfo(
  { library, config, settings: { groupsClaim } }: Asked,
  accessToken: string,
  claims: Claims & { sub: string },
): Promise<Claims & { sub: string }> {
  const isWhole = claims.email !== undefined && claims[groupsClaim] !== undefined
  if (isWhole || config.serverMetadata().userinfo_endpoint === undefined) return claims
  return { ...(await library.fetchUserInfo(config, accessToken, claims.sub)), ...claims }
}

function vouchedBy(
  { issuer: setting, groupsClaim }: SingleSignOnSettings,
  claims: Claims & { iss: string; sub: string },
  refreshToken: string | undefined,
): IdentityClaims {
  const text = (name: string) => {
    const value = claims[name]
    // What no store keeps as it is counts as not said: people choose names and addresses at some providers.
    const isKept = typeof value === 'string' && value !== '' && !value.includes('\0') && value.isWellFormed()
    return isKept ? value : undefined
  }
  const groups = claims[groupsClaim]
  return {
    issuer: claims.iss,
    alsoNamed: [claims.iss, setting].flatMap(namesOf),
    sub: claims.sub,
    email: text('email'),
    emailVerified: isTrue(claims.email_verified),
    name: text('name'),
    username: text('preferred_username'),
    groups: groups === undefined ? undefined : [groups].flat().filter((one) => typeof one === 'string'),
    refreshToken,
  }
}

/** Some providers write a truth as text (OpenID Connect Core 5.1 asks for a boolean). Nothing else counts as said. */
function isTrue(claim: unknown): boolean {
  return claim === true || claim === 'true'
}

/** A sentence for the log, without what was sent. */
function faultOf(library: Library, error: unknown): ProviderError {
  if (error instanceof library.ResponseBodyError)
    return new ProviderError(`the provider refused: ${error.error}`, error.status >= 500, error)
  if (error instanceof library.AuthorizationResponseError)
    return new ProviderError(`the provider refused: ${error.error}`, false, error)
  const code = (error as { code?: unknown }).code
  const isAnswer =
    typeof code === 'string' &&
    code.startsWith('OAUTH_') &&
    code !== 'OAUTH_TIMEOUT' &&
    code !== 'OAUTH_RESPONSE_IS_NOT_CONFORM'
  const why = (error as Error).message
  return new ProviderError(isAnswer ? `its answer is wrong: ${why}` : `it could not be asked: ${why}`, !isAnswer, error)
}

/** RFC 6749 5.2: the refresh token ended, which is what a provider says once it no longer knows the person. */
function isGone(cause: unknown): boolean {
  return (cause as { error?: unknown } | undefined)?.error === 'invalid_grant'
}
