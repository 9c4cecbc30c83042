/** The secret of a webhook and its Standard Webhooks key. docs/webhooks.md: Receiving webhooks. */
import { randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'

/** Returns a new secret: `whsec_` and base64 of 32 random bytes. */
export function newWebhookSecret(): string {
  return `${PREFIX}${randomBytes(32).toString('base64')}`
}

/** Returns the Standard Webhooks key: the bytes after `whsec_`, or all bytes of a secret without the prefix, such as a client secret. */
export function standardKey(secret: string): Buffer {
  return secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), 'base64') : Buffer.from(secret)
}
