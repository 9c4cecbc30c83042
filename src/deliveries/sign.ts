/**
 * The signatures of a delivery. Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`, `v1,<base64>`, one for each live
 * secret. `x-vercel-signature`: hex HMAC-SHA1 of the raw body, for receivers that are there already. docs/webhooks.md: Two signatures.
 */
import { createHmac } from 'node:crypto'
import { standardKey } from '../webhooks/secret.ts'

/** `secrets`: all that are live, the oldest first; `seconds`: when this attempt is made. */
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

/** This header has room for one: the oldest secret signs for as long as it lives, so that no receiver is cut off by a new one. */
export function bodySignature(body: string, secret: string): string {
  return createHmac('sha1', secret).update(body).digest('hex')
}
