/** Webhooks and log drains in each of their states: their rows, their cards, and the buttons for each role. docs/console.md: UI text. */
import assert from 'node:assert/strict'
import { withQuery } from '../../support/call.ts'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { readPage } from '../../support/clients/page-text.ts'
import { tamper } from '../../support/states.ts'
import { onBothEngines } from '../../support/world.ts'

const LIST = '/console/t/team'
/** Long ago, which reads so in each run. */
const AT = 1

type State = {
  columns: { failing_since?: number | null; disabled_at?: number; disabled_reason?: 'gone'; held_at?: number }
  webhook: string
  drain: string
}

const HELD = '(warn) On hold: needs an owner'

const STATES: Readonly<Record<string, State>> = {
  active: { columns: { failing_since: null }, webhook: '(good) Active', drain: '(good) Active' },
  failing: { columns: { failing_since: AT }, webhook: '(bad) Failing began TIME', drain: '(bad) Failing' },
  disabled: { columns: { disabled_at: AT }, webhook: '(bad) Disabled', drain: '(bad) Disabled' },
  gone: {
    columns: { failing_since: AT, disabled_at: AT, disabled_reason: 'gone' },
    webhook: '(bad) Disabled: gone',
    drain: '(bad) Disabled',
  },
  held: { columns: { disabled_at: AT, held_at: AT }, webhook: HELD, drain: HELD },
}

const post = (to: string, words: string) => [`→ ${to}`, `[${words}]`]
const DELIVERIES = [
  ...['## Deliveries', 'Show', 'status=All deliveries, Pending, On hold, Delivered, Failed, Dropped', '[Show]'],
  'No deliveries yet. Deliveries are kept for 30 days.',
]

/** The page of a webhook: who may write gets all buttons but one, which is for owners. */
function webhookPage(name: string, id: string, projects: string, role: string): string[] {
  const { columns, webhook } = STATES[name]!
  const to = `${LIST}/webhooks/${id}`
  const writes = role !== 'VIEWER'
  return [
    ...[`[Webhooks](${LIST}/webhooks)`, `# ${name}.example.com`],
    ...(writes && columns.held_at === undefined ? [`[Edit](${to}/edit)`] : []),
    ...(writes ? post(`${to}/test`, 'Send a test event') : []),
    ...['## Endpoint', `URL: https://${name}.example.com/`, `State: ${webhook}`],
    ...['Events: project.created project.removed', `Projects: ${projects}`, 'Created: TIME', `ID: ${id} [Copy]`],
    ...(writes && columns.disabled_at !== undefined ? post(`${to}/enable`, 'Enable') : []),
    ...(role === 'OWNER' && columns.held_at !== undefined ? post(`${to}/take-over`, 'Become its owner') : []),
    ...DELIVERIES,
    ...(writes ? ['## Resend deliveries', 'Up to 100 of them, oldest first.', `→ ${to}/replay`] : []),
    ...(writes ? ['Hours back', 'hours=24', 'Status', 'status=Failed (selected), Dropped, Delivered', '[Resend]'] : []),
    ...(writes ? ['## Remove webhook', 'It receives no more events. Pending deliveries are dropped.'] : []),
    ...(writes ? ['[Remove webhook…]', ...post(`${to}/delete`, 'Remove webhook')] : []),
  ]
}

/** The page of a log drain, in the same way. */
function drainPage(name: string, id: string, projects: string, role: string): string[] {
  const { columns, drain } = STATES[name]!
  const to = `${LIST}/drains/${id}`
  const writes = role !== 'VIEWER'
  const change = columns.disabled_at === undefined ? post(`${to}/disable`, 'Disable') : post(`${to}/enable`, 'Enable')
  return [
    ...[`[Log drains](${LIST}/drains)`, `# ${name}`, '## Endpoint', `URL: https://${name}.example.com/`],
    ...[`State: ${drain}`, 'Format: json', `Headers: ${name === 'active' ? 'x-one x-two' : 'No custom headers'}`],
    ...['Sources: static edge', 'Environments: production preview', `Projects: ${projects}`],
    ...['Created: TIME', `ID: ${id} [Copy]`],
    ...(writes && columns.held_at === undefined ? change : []),
    ...(role === 'OWNER' && columns.held_at !== undefined ? post(`${to}/take-over`, 'Become its owner') : []),
    ...DELIVERIES,
    ...(writes ? ['## Remove log drain', 'It receives no more log lines. Pending deliveries are dropped.'] : []),
    ...(writes ? ['[Remove log drain…]', ...post(`${to}/delete`, 'Remove log drain')] : []),
  ]
}

onBothEngines(
  'an endpoint says its state in its row and on its page, with what a role can do about it',
  async (world) => {
    const on = <const U extends string>(path: U) => withQuery(path, `teamId=${world.credentials.teamId}`)
    const projectId = (await world.call('POST', on('/v10/projects'), { name: 'web' })).body.id
    const made: { name: string; hook: string; drain: string; projects: string }[] = []
    for (const [name, { columns }] of Object.entries(STATES)) {
      const url = `https://${name}.example.com/`
      const [some, headers] =
        name === 'active' ? [{}, { headers: { 'x-one': '1', 'x-two': '2' } }] : [{ projectIds: [projectId] }, {}]
      const wanted = { url, events: ['project.created', 'project.removed'], ...some }
      const hook = (await world.call('POST', on('/v1/webhooks'), wanted)).body.id
      const drained = { url, deliveryFormat: 'json', sources: ['static', 'edge'], name, ...some, ...headers }
      const drain = (await world.call('POST', on('/v1/log-drains'), drained)).body.id
      await tamper(world, 'webhook', columns, { id: hook })
      await tamper(world, 'log_drain', columns, { id: drain })
      made.unshift({ name, hook, drain, projects: name === 'active' ? 'All' : `[web](${LIST}/projects/web)` })
    }
    for (const role of ['OWNER', 'MEMBER', 'VIEWER']) {
      const user = await world.user(role.toLowerCase())
      await world.join(user, role)
      const client = await openSignedInClient(world, user.id, role.toLowerCase())
      const read = async (path: string) => {
        const { text } = await client.get(path)
        return readPage(text.replaceAll(/(<time[^>]*>)[^<]*/g, '$1TIME'))
      }
      const count = (projects: string) => (projects === 'All' ? 'All projects' : '1 project')
      assert.deepEqual(await read(`${LIST}/webhooks`), [
        '# Webhooks',
        ...(role === 'VIEWER' ? [] : [`[New webhook](${LIST}/webhooks/new)`]),
        'URL | State | Events | Projects | Changed |',
        ...made.map(
          ({ name, hook, projects }) =>
            `[https://${name}.example.com/](${LIST}/webhooks/${hook}) | ${STATES[name]!.webhook} | 2 events | ${count(projects)} | TIME |`,
        ),
      ])
      assert.deepEqual(await read(`${LIST}/drains`), [
        '# Log drains',
        ...(role === 'VIEWER' ? [] : [`[New log drain](${LIST}/drains/new)`]),
        'Name | State | URL | Projects | Changed |',
        ...made.map(
          ({ name, drain, projects }) =>
            `[${name}](${LIST}/drains/${drain}) | ${STATES[name]!.drain} | https://${name}.example.com/ | ${count(projects)} | TIME |`,
        ),
      ])
      for (const { name, hook, drain, projects } of made) {
        assert.deepEqual(await read(`${LIST}/webhooks/${hook}`), webhookPage(name, hook, projects, role), role)
        assert.deepEqual(await read(`${LIST}/drains/${drain}`), drainPage(name, drain, projects, role), role)
      }
    }
  },
)
