/** The code by which the hosted platform asks an endpoint of a drain to prove itself. docs/webhooks.md: Log drains. */
import { createHash } from 'node:crypto'
import type { Ctx } from '../../context.ts'
import { Type } from '../../platform/schema/builder.ts'

export const EndpointVerification = Type.Object({
  verificationCode: Type.String({ description: 'the same for all drains of the account' }),
})

/**
 * Gives the code of the account, which is no secret: an endpoint shows it to everybody in `x-vercel-verify`. Berth sends to endpoints without
 * asking for it; Terraform reads it to configure an endpoint.
 */
export function getEndpointVerification(ctx: Ctx): { verificationCode: string } {
  const hash = createHash('sha256').update(`verify-endpoint ${ctx.account.id}`)
  return { verificationCode: hash.digest('hex').slice(0, 40) }
}
