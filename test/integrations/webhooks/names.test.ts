/** The names with which events are requested and sent, and which names a client is shown that knows only some of them. docs/webhooks.md. */
import assert from 'node:assert/strict'
import { EVENT_NAMES } from '../../../src/events.ts'
import { WEBHOOK_EVENT_NAMES } from '../../../src/platform/outbox/event-names.ts'
import { seedProject } from '../../support/projects.ts'
import { deliver, deliveries, LOCAL, receiver, register } from '../../support/servers/receiver.ts'
import { onBothEngines } from '../../support/world.ts'

/** The 55 names that the Terraform provider validates (vercel/resource_webhook.go). */
const OF_THE_PROVIDER = [
  ...['canceled', 'check-rerequested', 'cleanup', 'created', 'error', 'promoted', 'ready', 'succeeded'].map(
    (end) => `deployment.${end}`,
  ),
  ...['cancel', 'cleanup', 'start'].map((end) => `deployment.integration.action.${end}`),
  ...['created', 'auto-renew-changed', 'certificate-add', 'certificate-add-failed', 'certificate-deleted'].map(
    (end) => `domain.${end}`,
  ),
  ...['certificate-renew', 'certificate-renew-failed', 'dns-records-changed', 'renewal', 'renewal-failed'].map(
    (end) => `domain.${end}`,
  ),
  ...['completed', 'failed', 'started'].map((end) => `domain.transfer-in-${end}`),
  ...['created', 'deleted', 'moved', 'unverified', 'updated', 'verified'].map((end) => `project.domain-${end}`),
  ...['permission-upgraded', 'removed', 'scope-change-confirmed', 'transferred'].map(
    (end) => `integration-configuration.${end}`,
  ),
  ...['connected', 'disconnected'].map((end) => `integration-resource.project-${end}`),
  ...['created', 'notpaid', 'paid', 'refunded'].map((end) => `marketplace.invoice.${end}`),
  ...['marketplace.member.changed', 'alerts.triggered'],
  ...['created', 'updated', 'deleted'].flatMap((end) => [`flag.${end}`, `flag.segment.${end}`]),
  ...['created', 'removed', 'renamed'].map((end) => `project.${end}`),
  ...['approved', 'completed', 'aborted', 'started'].map((end) => `project.rolling-release.${end}`),
]

onBothEngines('every event name of the Terraform provider is accepted, and read back as it was sent', async (world) => {
  assert.equal(new Set(OF_THE_PROVIDER).size, 55)
  const made = await register(world, 'https://hooks.example.com', OF_THE_PROVIDER)
  const headers = { 'user-agent': 'terraform-provider-vercel/4.0.0' }
  const read = await world.call('GET', `/v1/webhooks/${made.id}`, undefined, headers)
  assert.deepEqual(read.body.events, OF_THE_PROVIDER)
  const twice = [...OF_THE_PROVIDER, 'project.domain.created', 'project.domain-created']
  const both = await world.call('PATCH', `/v1/webhooks/${made.id}`, { events: twice })
  assert.deepEqual(both.body.events, [...OF_THE_PROVIDER, 'project.domain.created'])
  for (const unknown of ['project.domaincreated', 'project', '', 'toString', 'project..domain.created']) {
    const events = { url: 'https://hooks.example.com', events: [unknown] }
    assert.equal((await world.call.try('POST', '/v1/webhooks', events)).status, 400, unknown)
  }
})

onBothEngines(
  'an event is sent once, by the name that the subscriber asked for',
  async (world, t) => {
    const names: Record<string, string[]> = {
      provider: ['project.domain-created'],
      sdk: ['project.domain.created'],
      both: ['flag.created', 'project.domain-created', 'project.domain.created'],
      neither: ['project.domain-deleted', 'flag.created'],
    }
    const hooks = await Promise.all(Object.keys(names).map((name) => receiver(t, `/${name}`)))
    for (const [at, hook] of hooks.entries()) await register(world, hook.url, Object.values(names)[at]!)
    await seedProject(world, 'web')
    const domain = { name: 'www.example.com' }
    assert.equal((await world.call('POST', '/v10/projects/web/domains', domain)).status, 200)
    await deliver(world)
    assert.deepEqual(
      hooks.map(({ got }) => got.map(({ body }) => [body.type, body.payload.domain.name])),
      [
        [['project.domain-created', domain.name]],
        [['project.domain.created', domain.name]],
        [['project.domain-created', domain.name]],
        [],
      ],
    )
    assert.deepEqual(
      new Set((await deliveries(world)).map((one: { type: string }) => one.type)),
      new Set(['project.domain.created']),
    )
  },
  { ...LOCAL, BERTH_PLATFORM_SUFFIX: 'apps.example.net' },
)

onBothEngines('no user subscribes to events that they may not see, in the other spelling either', async (world) => {
  const hooks = await world.token({ scopes: ['read-write:integration-configuration', 'read:project'] })
  const status = async (...events: string[]) =>
    (await hooks.try('POST', '/v1/webhooks', { url: 'https://hooks.example.com', events })).status
  assert.equal(await status('project.created', 'flag.created'), 200)
  assert.equal(await status('project-created'), 200)
  assert.equal(await status('project.domain-created'), 403)
  const variables = await world.token({ scopes: ['read-write:integration-configuration', 'read:project-env-vars'] })
  for (const name of ['project.env-variable.created', 'project.env.variable-created']) {
    const made = await variables.try('POST', '/v1/webhooks', { url: 'https://hooks.example.com', events: [name] })
    assert.equal(made.status, 403, name)
  }
})

const SDKS = {
  '1.1.0': async () => (await import('sdk-1.1.0/models/operations/getwebhooks.js')).GetWebhooksResponseBodyEvents,
  '1.6.3': async () => (await import('sdk-1.6.3/models/getwebhooksop.js')).GetWebhooksResponseBodyEvents,
  '1.28.35': async () => (await import('sdk-1.28.35/models/getwebhooksop.js')).GetWebhooksResponseBodyEvents,
}

onBothEngines(
  'an SDK is shown the names that its version knows, and other clients are shown every name',
  async (world) => {
    const asked = [...WEBHOOK_EVENT_NAMES, ...OF_THE_PROVIDER.filter((name) => !WEBHOOK_EVENT_NAMES.includes(name))]
    const { id } = await register(world, 'https://hooks.example.com', asked.slice(0, 100))
    const shownTo = async (agent: string | undefined) => {
      const headers = agent === undefined ? {} : { 'user-agent': agent }
      const one = (await world.call('GET', `/v1/webhooks/${id}`, undefined, headers)).body.events
      const [listed] = (await world.call('GET', '/v1/webhooks', undefined, headers)).body
      assert.deepEqual(listed.events, one)
      return one
    }
    for (const [version, load] of Object.entries(SDKS)) {
      const known: string[] = Object.values(await load())
      const shown = await shownTo(`speakeasy-sdk/typescript ${version} 2.461.4 0.0.1 @vercel/sdk`)
      assert.deepEqual(
        shown,
        WEBHOOK_EVENT_NAMES.filter((name) => known.includes(name)),
        version,
      )
    }
    const newer = await shownTo('speakeasy-sdk/typescript 1.100.0 3.0.0 0.0.1 @vercel/sdk')
    assert.ok(newer.includes('project.renamed') && !newer.includes('project.transfer.started'))
    // 1.19.40 is not installed here: these nine came with 1.19.
    const nine = ['flag', 'flag.segment', 'project.env-variable'].flatMap((of) =>
      ['created', 'updated', 'deleted'].map((end) => `${of}.${end}`),
    )
    const older = await shownTo('speakeasy-sdk/typescript 1.18.8 3.0.0 0.0.1 @vercel/sdk')
    const later = await shownTo('speakeasy-sdk/typescript 1.19.40 3.0.0 0.0.1 @vercel/sdk')
    assert.deepEqual(
      [nine.filter((name) => older.includes(name)), nine.filter((name) => later.includes(name))],
      [[], nine],
    )
    for (const agent of [undefined, 'vercel 64.0.2 node-v24 linux (x64)', 'curl/8', 'speakeasy-sdk/python 1.1.0 2 3'])
      assert.deepEqual(await shownTo(agent), asked.slice(0, 100), String(agent))
    assert.deepEqual(
      EVENT_NAMES.filter((name) => !WEBHOOK_EVENT_NAMES.includes(name)),
      [],
    )
    const only = { url: 'https://hooks.example.com', events: ['project.transfer.started'] }
    const headers = { 'user-agent': 'speakeasy-sdk/typescript 1.28.35 2.9.1 0.0.1 @vercel/sdk' }
    const made = await world.call('POST', '/v1/webhooks', only, headers)
    assert.deepEqual([made.status, made.body.events], [200, []])
    const enabled = await world.call('PATCH', `/v1/webhooks/${made.body.id}`, { enabled: true }, headers)
    assert.deepEqual(enabled.body.events, [])
    assert.deepEqual((await world.call('GET', `/v1/webhooks/${made.body.id}`)).body.events, only.events)
  },
)
