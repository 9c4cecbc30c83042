/** The verification code of the hosted platform for drain endpoints. docs/webhooks.md: Log drains. */
import { createHash } from 'node:crypto'
import type { Ctx } from '../../context.ts'
import { Type } from '../../platform/schema/builder.ts'

export const EndpointVerification = Type.Object({
  verificationCode: Type.String({ description: 'the same for all drains of the account' }),
})

/** Returns the account's code, which endpoints show publicly in `x-vercel-verify`. Berth does not check it; Terraform reads it to configure an endpoint. */
export function getEndpointVerification(ctx: Ctx): { verificationCode: string } {
  const hash = createHash('sha256').update(`verify-endpoint ${ctx.account.id}`)
  return { verificationCode: hash.digest('hex').slice(0, 40) }
}
