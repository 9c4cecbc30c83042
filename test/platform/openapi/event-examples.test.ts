/** The examples of events, of /docs and of the OpenAPI document, are real deliveries. Rewrite them after a change: `npm run examples`. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { EVENT_NAMES } from '../../../src/events.ts'
import { eventBody, readEventExamples } from '../../../src/platform/openapi/events.ts'
import { openApiText } from '../../../src/platform/openapi/pages.ts'
import { ROUTES } from '../../../src/routes.ts'
import { root } from '../../support/root.ts'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { onBothEngines } from '../../support/world.ts'
import { STORY, tellEvents } from './event-story.ts'
import { stableAnswers } from './stable-answers.ts'

const dns = await startDnsServer()
after(() => dns.close())
const ajv = new Ajv2020({ strict: false })

/** A copy of a schema that allows no field that it does not list. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const copy = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]))
  return 'properties' in copy ? { ...copy, additionalProperties: false } : copy
}

onBothEngines(
  'each event arrives as its example says, and with no field that its schema lacks; npm run examples rewrites them',
  async (world, t) => {
    const told = await tellEvents(world, t, dns)
    assert.deepEqual(Object.keys(told).toSorted(), EVENT_NAMES.toSorted())
    for (const name of EVENT_NAMES)
      for (const body of told[name]!)
        assert.ok(ajv.validate(closed(eventBody(name)) as object, body), `${name}: ${ajv.errorsText()}`)
    const examples = Object.fromEntries(EVENT_NAMES.map((name) => [name, told[name]![0]]))
    t.assert.fileSnapshot(stableAnswers(examples), join(root, 'src', 'platform', 'openapi', 'event-examples.json'))
  },
  { ...STORY, BERTH_DNS_SERVERS: dns.address },
)

test('each event has its example and its whole body in the OpenAPI document', () => {
  const examples = readEventExamples()
  const { webhooks } = JSON.parse(openApiText(ROUTES))
  assert.deepEqual(Object.keys(webhooks), EVENT_NAMES)
  for (const name of EVENT_NAMES) {
    const { parameters, requestBody } = webhooks[name].post
    const { example, schema } = requestBody.content['application/json']
    assert.deepEqual(example, examples[name], name)
    assert.ok(ajv.validate(schema, example), `${name}: ${ajv.errorsText()}`)
    assert.equal(ajv.validate(schema, { ...example, type: 'other' }), false, name)
    assert.deepEqual(
      parameters.map((one: { name: string }) => one.name),
      ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'x-vercel-signature'],
    )
  }
})
