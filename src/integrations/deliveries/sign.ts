/**
 * The signatures of a delivery. `webhook-signature` follows Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`, written `v1,<base64>`, one for
 * each live secret. `x-vercel-signature` is for receivers that exist already: hex HMAC-SHA1 of the raw body. docs/webhooks.md: Two signatures.
 */
import { createHmac } from 'node:crypto'
import { standardKey } from '../webhooks/secret.ts'

/** The headers that sign a delivery. `secrets`: all live secrets, oldest first. `seconds`: when this attempt is made, since the epoch. */
export function signatureHeaders(id: string, seconds: number, body: string, secrets: readonly string[]) {
  const signed = `${id}.${seconds}.${body}`
  const signatures = secrets.map((secret) => {
    return `v1,${createHmac('sha256', standardKey(secret)).update(signed).digest('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatures.join(' '),
    'x-vercel-signature': bodySignature(body, secrets[0]!),
  }
}

/** The value of `x-vercel-signature`. It has room for one secret: the oldest live one, so that a new secret breaks no receiver. */
export function bodySignature(body: string, secret: string): string {
  return createHmac('sha1', secret).update(body).digest('hex')
}
