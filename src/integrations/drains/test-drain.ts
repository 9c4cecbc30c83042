/** Tests a URL with one line before a drain is created. docs/webhooks.md: Log drains. */
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { randomText } from '../../platform/base/ids.ts'
import { linesPost } from '../deliveries/endpoint.ts'
import type { DrainTestResult, DrainToTest } from './drain-schema.ts'
import { parseHeaders } from './headers.ts'
import { joinLines, showLine } from './ingest.ts'
import { mustBeEndpoint, mustBeLogs } from './rules.ts'

const OF = { id: 'prj_test', name: 'test' }
type Tested = Static<typeof DrainTestResult>

/** Posts a line as a drain would and returns the error; empty on success. Signs with the given or a random secret. Stores nothing. Refuses: bad_request 400. */
export async function sendTestLine(ctx: Ctx, _: undefined, { body }: Input<unknown, DrainToTest>): Promise<Tested> {
  const { delivery, schemas } = body
  mustBeLogs(schemas)
  mustBeEndpoint(ctx, delivery)
  const headers = parseHeaders(delivery.headers ?? {}, 'delivery.headers')
  const line = {
    timestamp: ctx.now,
    message: 'A test of this log drain.',
    source: 'external',
    environment: 'production',
  } as const
  const text = joinLines(delivery.encoding, [showLine(OF, line)])
  const to = { account_id: ctx.account.id, url: delivery.endpoint, delivery_format: delivery.encoding }
  const signed = { secret: delivery.secret ?? randomText(40), headers }
  const posted = await ctx.deps.adapters.egress.post(linesPost(to, signed, text), ctx.deps.shutdownSignal)
  if ('error' in posted) return failed(delivery.endpoint, posted.error)
  const arrived = posted.statusCode >= 200 && posted.statusCode < 300
  return arrived ? {} : failed(delivery.endpoint, `the receiver responded ${posted.statusCode}`)
}

function failed(endpoint: string, error: string): Tested {
  return { status: 'failed', endpoint, error }
}
