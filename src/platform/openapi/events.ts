/** Webhook events for the OpenAPI document and the reference, from the table of events. docs/webhooks.md: Receiving webhooks. */
import { EVENTS, type EventName } from '../../events.ts'
import { shippedFile } from '../base/shipped-files.ts'
import { Type } from '../schema/builder.ts'
import { Timestamp } from '../schema/fields.ts'

/** An example body per event, recorded by test/platform/openapi/event-examples.test.ts with normalized ids and times. */
export type EventExamples = Partial<Record<EventName, object>>

/** Reads the examples, which only documents need. */
export function readEventExamples(): EventExamples {
  return JSON.parse(shippedFile('event examples'))
}

/** Headers of the request, in addition to those of HTTP. */
const HEADERS: Record<string, string> = {
  'webhook-id': 'the id of the event: the same at every attempt',
  'webhook-timestamp': 'when it is sent, in seconds since the epoch',
  'webhook-signature':
    '`v1,` and base64 of HMAC-SHA256 over `id.timestamp.body` (Standard Webhooks); two, with a space between, while a client secret is replaced',
  'x-vercel-signature': 'hex of HMAC-SHA1 over the body',
}
export const EVENT_HEADERS = Object.entries(HEADERS).map(([name, description]) => ({
  name,
  in: 'header' as const,
  required: true as const,
  schema: Type.String(),
  description,
}))

/** Returns the schema of the body. */
export function eventBody(name: EventName) {
  const { payload } = EVENTS[name]
  return Type.Object({
    id: Type.String({ description: 'the event: the same at every attempt' }),
    type: Type.Literal(name, { description: 'in the spelling of the subscription' }),
    createdAt: { ...Timestamp, description: 'when it happened, in milliseconds since the epoch' },
    region: Type.Null({ description: 'always null' }),
    payload,
  })
}

/** Returns the notes of an event: trigger, subscribers and expected response. */
export function eventDescription(name: EventName): string {
  const { when, needs, sentWhileDisabled } = EVENTS[name]
  const isOwn = name.startsWith('integration-configuration.')
  return [
    when,
    isOwn
      ? 'An integration always receives it for its own installation, and never for another.'
      : `An integration receives it when it was granted ${needs.map((need) => `\`${need}\``).join(', ')}.`,
    sentWhileDisabled
      ? 'It is sent while the installation is disabled too.'
      : 'While the installation is disabled it waits.',
    'Respond with any 2xx within 15 s. Other responses are failures and are retried.',
  ].join(' ')
}

/** Returns the OpenAPI entry of an event. */
export function eventOperation(name: EventName, example: object | undefined): object {
  const content = { schema: eventBody(name), ...(example && { example }) }
  return {
    post: {
      operationId: `on.${name}`,
      summary: `Receive ${name}`,
      description: eventDescription(name),
      parameters: EVENT_HEADERS,
      requestBody: { required: true, content: { 'application/json': content } },
      responses: { '2XX': { description: 'received' } },
    },
  }
}
