/** Authentication of OAuth clients by client secret, in the form or by HTTP Basic. RFC 6749, 2.3.1. */
import { timingSafeEqual } from 'node:crypto'
import type { Input, OperatorCtx } from '../../context.ts'
import { fingerprint } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { countFailure } from '../../platform/http/failure-limits.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { readIntegration } from '../integrations/integrations.ts'

type ClientForm = { client_id?: string; client_secret?: string }
type Credentials = Pick<Input<unknown, ClientForm>, 'body' | 'authorization' | 'address'>

/** Errors of every route that authenticates a client. */
export const CLIENT_REFUSALS = ['invalid_client', 'invalid_request'] as const

/**
 * Returns the integration of the client credentials. An unknown client and a wrong secret get the same response, after the same work. Refuses:
 * invalid_client 401, invalid_request 400 (no credentials, or two sets), rate_limited 429 instead of invalid_client after many failures; right
 * credentials still work then.
 */
export async function authenticateClient(
  ctx: Pick<OperatorCtx, 'db' | 'deps'>,
  { body, authorization, address = '' }: Credentials,
): Promise<Row<'integration'>> {
  const { id, secret } = credentialsOf(body, authorization)
  const integration = await readIntegration(ctx.db, { id })
  const secrets = await ctx.db
    .selectFrom('integration_secret')
    .select('hash')
    .where('integration_id', '=', id)
    .execute()
  const hashes = secrets.map(({ hash }) => hash)
  const matches = isOneOf(secret, hashes)
  if (integration !== undefined && matches) return integration
  await countFailure(ctx.deps, 'client-failures', `${fingerprint(id)} ${address}`)
  await countFailure(ctx.deps, 'client-address-failures', address)
  refuse('invalid_client')
}

/** Returns a required field of a form. Refuses: invalid_request 400. */
export function fieldOf<F extends string>(form: Partial<Record<F, string>>, name: F): string {
  const value = form[name]
  if (!value) refuse('invalid_request', `The parameter \`${name}\` is missing.`)
  return value
}

const NO_HASH = '0'.repeat(64)

/** Compares with two hashes in constant time, regardless of the number of secrets. */
function isOneOf(secret: string, hashes: readonly string[]): boolean {
  const digest = Buffer.from(fingerprint(secret))
  let isMatch = false
  for (const hash of [hashes[0] ?? NO_HASH, hashes[1] ?? NO_HASH]) {
    isMatch = timingSafeEqual(digest, Buffer.from(hash)) || isMatch
  }
  return isMatch
}

/** Returns id and secret from the form or HTTP Basic, empty for invalid text. Refuses: invalid_request 400 (none, or two sets). RFC 6749 2.3.1. */
export function credentialsOf(form: ClientForm, authorization: string | undefined): { id: string; secret: string } {
  const basic = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(authorization ?? '')?.[1]
  if (basic === undefined) return { id: fieldOf(form, 'client_id'), secret: fieldOf(form, 'client_secret') }
  if (form.client_secret !== undefined) {
    refuse(
      'invalid_request',
      'The client secret is sent twice: in the form and in the Authorization header. Send it once.',
    )
  }
  const pair = Buffer.from(basic, 'base64').toString('latin1')
  const colon = pair.indexOf(':')
  const id = decodeFormText(pair.slice(0, Math.max(colon, 0)))
  const secret = decodeFormText(pair.slice(colon + 1))
  if (form.client_id !== undefined && form.client_id !== id) {
    refuse('invalid_request', 'The parameter `client_id` is not the client of the Authorization header.')
  }
  return { id, secret }
}

/** Decodes form encoding within HTTP Basic: RFC 6749, 2.3.1. Invalid text becomes empty, which matches no client. */
function decodeFormText(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return ''
  }
}
