/** Sends one line to an address before a drain is made for it. docs/webhooks.md: Log drains. */
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

/**
 * Posts a line to the address as a drain would, and gives why it did not arrive; an empty answer: it arrived. It is signed with the
 * secret that is given, or with one that nobody knows. Nothing is kept. Refuses: bad_request 400.
 */
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
  return arrived ? {} : failed(delivery.endpoint, `the receiver answered ${posted.statusCode}`)
}

function failed(endpoint: string, error: string): Tested {
  return { status: 'failed', endpoint, error }
}

/** What was found before the transaction is the answer. */
export function testDrain(_ctx: Ctx, _: undefined, _input: Input, tested: Tested): Tested {
  return tested
}
