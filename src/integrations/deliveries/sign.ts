/**
 * Delivery signatures. `webhook-signature` follows Standard Webhooks: HMAC-SHA256 over `id.timestamp.body` as `v1,<base64>`, one per live secret.
 * `x-vercel-signature` is hex HMAC-SHA1 of the body, for existing receivers. docs/webhooks.md: Two signatures.
 */
import { createHmac } from 'node:crypto'
import { standardKey } from '../webhooks/secret.ts'

/** Returns the signature headers. `secrets`: all live ones, oldest first. `seconds`: the attempt's time, since the epoch. */
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

/** Returns the value of `x-vercel-signature`. It holds one signature, by the oldest live secret, so that a new secret breaks no receiver. */
export function bodySignature(body: string, secret: string): string {
  return createHmac('sha1', secret).update(body).digest('hex')
}
