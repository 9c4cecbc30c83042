/** Custom headers of a drain, whose values may be credentials. docs/webhooks.md: Log drains. */
import type { Ctx } from '../../context.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { openSecretBox, type SecretBox } from '../../platform/secrets/data-keys.ts'
import type { DrainRow } from './schema.ts'

type Headers = Record<string, string>

const MAX_HEADER_BYTES = 8192
/** Headers that Berth sets, and connection headers (RFC 9110, 7.6.1). */
const OWN_HEADERS =
  /^(host|content-.*|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|proxy-.*|x-vercel-signature|user-agent|webhook-.*)$/

/** Returns the headers with lower-case names. `field`: the field of the request. Refuses: bad_request 400. */
export function parseHeaders(headers: Headers, field: string): Headers {
  const result: Headers = {}
  for (const [header, value] of Object.entries(headers)) {
    const name = header.toLowerCase()
    const fault = headerError(name, value) ?? (Object.hasOwn(result, name) ? 'is present twice' : undefined)
    if (fault !== undefined) refuse('bad_request', `Invalid request: \`${field}.${header.slice(0, 100)}\` ${fault}.`)
    result[name] = value
  }
  if (JSON.stringify(result).length > MAX_HEADER_BYTES)
    refuse('bad_request', `Invalid request: \`${field}\` should be at most 8 KiB.`)
  return result
}

function headerError(name: string, value: string): string | undefined {
  if (!/^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(name)) return 'is not a valid header name'
  if (OWN_HEADERS.test(name)) return 'cannot be set'
  return /^[\x20-\x7e]*$/.test(value) ? undefined : 'should be visible ASCII characters'
}

/** Encrypts the headers; null when empty. */
export function sealHeaders(box: SecretBox, drainId: string, headers: Headers): string | null {
  if (Object.keys(headers).length === 0) return null
  return box.sealSecret('log-drain', `${drainId}:headers`, JSON.stringify(headers))
}

/** Decrypts the headers of a drain. */
export async function readHeaders(ctx: Ctx, row: DrainRow): Promise<Headers> {
  if (row.sealed_headers === null) return {}
  const box = await openSecretBox(ctx, row.account_id)
  return JSON.parse(box.openSecret('log-drain', `${row.id}:headers`, row.sealed_headers) ?? '{}')
}

/** Returns the headers with empty values, because values are write-only. */
export function maskHeaderValues(headers: Headers): Headers {
  return Object.fromEntries(Object.keys(headers).map((name) => [name, '']))
}
