/** Discovery of a single sign-on provider (OpenID Connect Discovery 1.0), and the spellings of its issuer. docs/single-sign-on.md. */
import type { Configuration } from 'openid-client'
import type { SingleSignOnSettings } from '../../../config.ts'
import { READERS } from '../../../readers.ts'
import { readWithin } from '../../fairness/read-within.ts'

const TIMEOUT_S = 10
const MAX_READ = READERS['answer of the identity provider'].bytes

export type Library = typeof import('openid-client')

/** Reads the provider's metadata. The setting may differ from the provider's own name in a trailing slash. Throws the library's error. */
export async function discover(library: Library, settings: SingleSignOnSettings): Promise<Configuration> {
  const { issuer } = settings
  const config = await discoverAt(library, settings, issuer).catch((error) => {
    const said: unknown = error?.cause?.body?.issuer
    if (typeof said !== 'string' || said === issuer || bare(said) !== bare(issuer)) throw error
    return discoverAt(library, settings, said)
  })
  // The code flow may omit the signature check, because of TLS to the provider. A proxy may be in between.
  library.enableNonRepudiationChecks(config)
  return config
}

function discoverAt(
  library: Library,
  { clientId, clientSecret }: SingleSignOnSettings,
  issuer: string,
): Promise<Configuration> {
  const url = new URL(issuer)
  return library.discovery(url, clientId, undefined, authenticateBy(library, clientSecret), {
    timeout: TIMEOUT_S,
    // Settings allow plain http only on this machine.
    execute: url.protocol === 'http:' ? [library.allowInsecureRequests] : [],
    [library.customFetch]: fetchSome,
  })
}

/** Returns an issuer with and without a trailing slash. */
export function namesOf(issuer: string): string[] {
  return [bare(issuer), `${bare(issuer)}/`]
}

function bare(issuer: string): string {
  return issuer.replace(/\/$/, '')
}

/** Returns whether a stored issuer is this provider. A multi-tenant provider has `{tenantid}` in its name, and the tenant in `iss`. */
export function isNamed(config: Configuration, settings: SingleSignOnSettings, issuer: string): boolean {
  const [before = '', after] = bare(config.serverMetadata().issuer).split('{tenantid}')
  const named = bare(issuer)
  if (named === bare(settings.issuer) || named === before) return true
  if (after === undefined) return false
  return (
    named.startsWith(before) && named.endsWith(after) && /^[\w.-]+$/.test(named.slice(before.length, -after.length))
  )
}

/** Client authentication as the provider supports it: in a header (the default), or in the body. */
function authenticateBy(library: Library, secret: string): import('openid-client').ClientAuth {
  const byHeader = library.ClientSecretBasic(secret)
  const byBody = library.ClientSecretPost(secret)
  return (server, ...rest) => {
    const offered = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    return (offered.includes('client_secret_basic') ? byHeader : byBody)(server, ...rest)
  }
}

/** Follows no redirect, and limits the size. */
async function fetchSome(url: string, options: object): Promise<Response> {
  const answer = await fetch(url, { ...options, redirect: 'manual' })
  const tooLong = () => new Error(`the answer of the provider is larger than ${MAX_READ / 1024} KiB`)
  const body = await readWithin(answer.body ?? [], MAX_READ, tooLong)
  const { status, headers } = answer
  return new Response([204, 304].includes(status) ? null : body, { status, headers })
}
