/**
 * The single sign-on provider, with `openid-client`: OpenID Connect Core 1.0, code flow with PKCE (RFC 7636) and `iss` (RFC 9207). Every ID token's
 * signature is verified. The library is loaded at the first sign-in.
 */
import type { Configuration } from 'openid-client'
import type { SingleSignOnSettings } from '../../config.ts'
import { discover, isNamed, type Library, namesOf } from './openid/discovery.ts'

/** Identity claims of the provider. */
export type IdentityClaims = {
  /** `iss` of the ID token: the provider's own spelling of its name. */
  issuer: string
  /** Other stored names of the provider: with and without a trailing slash, and the setting. */
  alsoNamed: string[]
  sub: string
  /** In the provider's spelling. */
  email: string | undefined
  emailVerified: boolean
  name: string | undefined
  username: string | undefined
  /** Undefined: the provider sent no groups. */
  groups: string[] | undefined
  /** For later checks that the provider still confirms the user. */
  refreshToken: string | undefined
}

/** Binds a response to the request of this browser. */
export type AuthorizationState = { state: string; nonce: string; verifier: string }

export type IdentityProvider = {
  /** The display name: its host. */
  name: string
  /** The authorization URL. `again`: requires reauthentication. Throws ProviderError. */
  addressOf(redirectUri: string, tie: AuthorizationState, again: boolean): Promise<string>
  /** Redeems the callback of the browser. Throws ProviderError. */
  redeem(url: URL, tie: AuthorizationState, again: boolean): Promise<IdentityClaims>
  /** Whether a stored issuer is this provider. Throws ProviderError when it is unreachable. */
  isNamed(issuer: string): Promise<boolean>
  /** Checks whether the provider still confirms a user. Undefined: it does not. Throws ProviderError when it is unreachable. */
  refresh(refreshToken: string, caller: Pick<IdentityClaims, 'issuer' | 'sub'>): Promise<IdentityClaims | undefined>
}

/**
 * `unavailable`: the provider was unreachable; otherwise it refused, or its response was invalid. `refreshToken`: replaces the one that was used,
 * although a later request failed.
 */
export class ProviderError extends Error {
  readonly unavailable: boolean
  refreshToken: string | undefined
  constructor(message: string, unavailable: boolean, cause: unknown) {
    super(message, { cause })
    this.unavailable = unavailable
  }
}

/** Accepted age of a reauthentication, in seconds: the user may take a while to return. */
const AGAIN_S = 300
/** How long the provider's configuration is cached, because keys and addresses may change. */
const CONFIGURATION_MS = 3_600_000

type Claims = Record<string, unknown>

/** Opens the configured provider. It is contacted at the first sign-in. */
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
  // OpenID Connect Core 1.0, 11: a provider issues a refresh token only with user consent.
  const prompt = again ? 'login' : scope.includes('offline_access') ? 'consent' : undefined
  const parameters = { ...about, ...(prompt && { prompt }), ...(again && { max_age: '0' }) }
  return library.buildAuthorizationUrl(config, parameters).href
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

/** The ID token of a refresh has the same issuer and subject (OpenID Connect Core 1.0, 12.2); not every provider sends one. */
async function refresh(asked: Asked, refreshToken: string, { issuer, sub }: Named): Promise<IdentityClaims> {
  const tokens = await asked.library.refreshTokenGrant(asked.config, refreshToken)
  const { iss = issuer } = tokens.claims() ?? {}
  if ((tokens.claims()?.sub ?? sub) !== sub) throw new Error('the ID token is of another user')
  const claims = await withUserinfo(asked, tokens.access_token, { ...tokens.claims(), sub }).catch((error) => {
    // The provider may have ended the former token already.
    throw Object.assign(faultOf(asked.library, error), { refreshToken: tokens.refresh_token })
  })
  return vouchedBy(asked.settings, { ...claims, iss }, tokens.refresh_token ?? refreshToken)
}

function scopeOf(config: Configuration, { scope }: SingleSignOnSettings): string {
  if (scope !== undefined) return scope
  const offered = config.serverMetadata().scopes_supported ?? []
  return [
    'openid',
    'email',
    'profile',
    ...['groups', 'offline_access'].filter((scope) => offered.includes(scope)),
  ].join(' ')
}

/** Adds the claims of the userinfo endpoint when email or groups are missing. */
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
    // A value that a database cannot store unchanged counts as missing: users choose names and addresses at some providers.
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
    groups: groups === undefined ? undefined : [groups].flat().filter((group) => typeof group === 'string'),
    refreshToken,
  }
}

/** Some providers send booleans as text (OpenID Connect Core 5.1 requires a boolean). Other values count as missing. */
function isTrue(claim: unknown): boolean {
  return claim === true || claim === 'true'
}

/** Describes an error for the log, without sent data. */
function faultOf(library: Library, error: unknown): ProviderError {
  if (error instanceof ProviderError) return error
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

/** RFC 6749 5.2: an invalid refresh token, which is also the response for a deleted user. */
function isGone(cause: unknown): boolean {
  return (cause as { error?: unknown } | undefined)?.error === 'invalid_grant'
}
