/** The secret of a webhook, and the key of Standard Webhooks that it stands for. docs/webhooks.md: For receivers. */
import { randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'

/** Makes a secret, in the form in which it is shown once: `whsec_` and base64 of 32 random bytes. */
export function newWebhookSecret(): string {
  return `${PREFIX}${randomBytes(32).toString('base64')}`
}

/** The key of Standard Webhooks: the bytes behind `whsec_`, or all bytes of a secret without it, as client secrets are. */
export function standardKey(secret: string): Buffer {
  return secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), 'base64') : Buffer.from(secret)
}
