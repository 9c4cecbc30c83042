/** What is posted to a webhook, as the document and the pages of the reference say it: made from the table of events. docs/webhooks.md: For receivers. */
import { EVENTS, type EventName } from '../../events.ts'
import { shippedFile } from '../base/shipped-files.ts'
import { Type } from '../schema/builder.ts'
import { Timestamp } from '../schema/fields.ts'

/** One body for each event, as test/platform/openapi/event-examples.test.ts received it from a service: ids and moments are made even. */
export type EventExamples = Partial<Record<EventName, object>>

/** Reads the examples. They are read when a document is asked for, and by nothing that sends events. */
export function readEventExamples(): EventExamples {
  return JSON.parse(shippedFile('event examples'))
}

/** The headers of the request, beside those of HTTP. */
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

/** Gives the schema of the whole body. */
export function eventBody(name: EventName) {
  const { payload } = EVENTS[name]
  return Type.Object({
    id: Type.String({ description: 'the event: the same at every attempt' }),
    type: Type.Literal(name, { description: 'in the spelling in which the webhook asked for it' }),
    createdAt: { ...Timestamp, description: 'when it happened, in milliseconds since the epoch' },
    region: Type.Null({ description: 'always null' }),
    payload,
  })
}

/** What the table says of an event beyond its shape: when it is told, to which integrations, and what a receiver does. */
export function eventDescription(name: EventName): string {
  const { when, needs, sentWhileDisabled } = EVENTS[name]
  const isOwn = name.startsWith('integration-configuration.')
  return [
    when,
    isOwn
      ? 'An integration always hears it of its own installation, and never of another.'
      : `An integration hears it when it was granted ${needs.map((need) => `\`${need}\``).join(', ')}.`,
    sentWhileDisabled
      ? 'It is sent while the installation is disabled too.'
      : 'While the installation is disabled it waits.',
    'Answer with any 2xx within 15 s. Anything else is a failure, after which it is posted again.',
  ].join(' ')
}

/** Gives the entry of an event in the OpenAPI document. */
export function eventOperation(name: EventName, example: object | undefined): object {
  const content = { schema: eventBody(name), ...(example && { example }) }
  return {
    post: {
      operationId: `on.${name}`,
      summary: `Hear of ${name}`,
      description: eventDescription(name),
      parameters: EVENT_HEADERS,
      requestBody: { required: true, content: { 'application/json': content } },
      responses: { '2XX': { description: 'heard' } },
    },
  }
}
