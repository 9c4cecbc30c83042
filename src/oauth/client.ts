/** An app that proves itself by its client secret: in the form, or by HTTP Basic. RFC 6749, 2.3.1; docs/integrations.md: The exchange of codes. */
import { timingSafeEqual } from 'node:crypto'
import type { Input, OperatorCtx } from '../context.ts'
import type { Row } from '../db/schema.ts'
import { countFailure } from '../http/failure-limits.ts'
import { fingerprint } from '../ids.ts'
import { refuse } from '../refusal.ts'

type ClientForm = { client_id?: string; client_secret?: string }

/** What every route of the client door may refuse with for who asks. */
export const CLIENT_REFUSALS = ['invalid_client', 'invalid_request'] as const

type Asking = Pick<Input<unknown, ClientForm>, 'body' | 'authorization' | 'address'>

/**
 * The integration that the secret proves. An unknown client and a wrong secret are answered alike, after the same work.
 * Refuses: invalid_client 401, invalid_request 400 (nothing said, or said in two ways), rate_limited 429 in place of invalid_client
 * after many failures: what is right is let in all the same.
 */
export async function authenticateClient(
  ctx: Pick<OperatorCtx, 'db' | 'deps'>,
  { body, authorization, address = '' }: Asking,
): Promise<Row<'integration'>> {
  const { id, secret } = credentialsOf(body, authorization)
  const row = await ctx.db.selectFrom('integration').selectAll().where('id', '=', id).executeTakeFirst()
  const live = await ctx.db.selectFrom('integration_secret').select('hash').where('integration_id', '=', id).execute()
  const matches = isOneOf(
    secret,
    live.map(({ hash }) => hash),
  )
  if (row !== undefined && matches) return row
  countFailure(ctx.deps, 'client-failures', `${fingerprint(id)} ${address}`)
  countFailure(ctx.deps, 'client-address-failures', address)
  refuse('invalid_client')
}

/** A field that must be there, of a form. Refuses: invalid_request 400. */
export function fieldOf<F extends string>(form: Partial<Record<F, string>>, name: F): string {
  const value = form[name]
  if (!value) refuse('invalid_request', `The parameter \`${name}\` is missing.`)
  return value
}

const NO_HASH = '0'.repeat(64)

/** Compares with two hashes whichever there are, each in constant time. */
function isOneOf(secret: string, hashes: readonly string[]): boolean {
  const given = Buffer.from(fingerprint(secret))
  let found = false
  for (const hash of [hashes[0] ?? NO_HASH, hashes[1] ?? NO_HASH]) {
    found = timingSafeEqual(given, Buffer.from(hash)) || found
  }
  return found
}

function credentialsOf(form: ClientForm, authorization: string | undefined): { id: string; secret: string } {
  const basic = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(authorization ?? '')?.[1]
  if (basic === undefined) return { id: fieldOf(form, 'client_id'), secret: fieldOf(form, 'client_secret') }
  if (form.client_secret !== undefined) {
    refuse('invalid_request', 'The client secret is given twice: in the form and in the Authorization header.')
  }
  const said = Buffer.from(basic, 'base64').toString('latin1')
  const at = said.indexOf(':')
  const [id, secret] = [decoded(said.slice(0, Math.max(at, 0))), decoded(said.slice(at + 1))]
  if (form.client_id !== undefined && form.client_id !== id) {
    refuse('invalid_request', 'The parameter `client_id` is not the client of the Authorization header.')
  }
  return { id, secret }
}

/** Form-encoded inside of Basic: RFC 6749, 2.3.1. What is no such text is no client's. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return ''
  }
}
