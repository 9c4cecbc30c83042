/** Deliveries of a webhook in each of their states: their rows, and what their pages say. docs/console.md: UI text. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { readPage } from '../../support/clients/page-text.ts'
import { addRows } from '../../support/states.ts'
import { onBothEngines } from '../../support/world.ts'

const HOUR_MS = 3_600_000

type State = {
  status: 'pending' | 'delivered' | 'failed' | 'dropped'
  /** In hours. */
  due?: number
  held?: true
  /** Status, error and response of the attempts, oldest first. */
  tries?: readonly (readonly [status_code: number | null, error?: string | null, response?: string])[]
  /** State, attempts, last response and button. */
  row: readonly [state: string, attempts: string, last: string, button: string]
  /** The color, and what happened and comes. */
  says: readonly [color: string, words: string]
  /** Status and response of each attempt. */
  attempts?: readonly string[]
}

const NOTHING = ['0 attempts', 'No response yet'] as const

const STATES: Readonly<Record<string, State>> = {
  waiting: {
    status: 'pending',
    due: 2,
    row: ['(warn) Pending', ...NOTHING, 'Send now'],
    says: ['(busy)', 'Not sent yet. Next attempt: in 2 hours.'],
  },
  due: {
    status: 'pending',
    due: 0,
    row: ['(warn) Pending', ...NOTHING, 'Send now'],
    says: ['(busy)', 'Not sent yet. It is being sent.'],
  },
  leased: {
    status: 'pending',
    row: ['(warn) Pending', ...NOTHING, ''],
    says: ['(busy)', 'Not sent yet. It is being sent.'],
  },
  held: {
    status: 'pending',
    held: true,
    row: ['(warn) On hold', ...NOTHING, ''],
    says: ['(busy)', 'Not sent yet. On hold until an owner of the team becomes the owner of the webhook.'],
  },
  retried: {
    status: 'pending',
    due: 2,
    tries: [[200], [500, null, 'no']],
    row: ['(warn) Pending', '2 attempts', '500', 'Send now'],
    says: ['(bad)', 'Attempt 2 failed: the endpoint returned 500 after 45 ms. Next attempt: in 2 hours.'],
    attempts: ['200 | Not stored', '500 | no'],
  },
  resent: {
    status: 'pending',
    due: 2,
    tries: [[200]],
    row: ['(warn) Pending', '1 attempt', '200', 'Send now'],
    says: ['(busy)', 'Attempt 1 succeeded: the endpoint returned 200 after 45 ms. Next attempt: in 2 hours.'],
    attempts: ['200 | Not stored'],
  },
  delivered: {
    status: 'delivered',
    tries: [[500], [299, null, 'yes']],
    row: ['(good) Delivered', '2 attempts', '299', 'Resend'],
    says: ['(busy)', 'Attempt 2 succeeded: the endpoint returned 299 after 45 ms.'],
    attempts: ['500 | Not stored', '299 | yes'],
  },
  early: {
    status: 'failed',
    tries: [[199]],
    row: ['(bad) Failed', '1 attempt', '199', 'Resend'],
    says: ['(bad)', 'Attempt 1 failed: the endpoint returned 199 after 45 ms. It will not be retried.'],
    attempts: ['199 | Not stored'],
  },
  moved: {
    status: 'failed',
    tries: [[300]],
    row: ['(bad) Failed', '1 attempt', '300', 'Resend'],
    says: ['(bad)', 'Attempt 1 failed: the endpoint returned 300 after 45 ms. It will not be retried.'],
    attempts: ['300 | Not stored'],
  },
  refused: {
    status: 'failed',
    tries: [[null, 'connection refused']],
    row: ['(bad) Failed', '1 attempt', 'connection refused', 'Resend'],
    says: ['(bad)', 'Attempt 1 failed: connection refused after 45 ms. It will not be retried.'],
    attempts: ['None | connection refused'],
  },
  silent: {
    status: 'failed',
    tries: [[null]],
    row: ['(bad) Failed', '1 attempt', 'No response', 'Resend'],
    says: ['(bad)', 'Attempt 1 failed: no response after 45 ms. It will not be retried.'],
    attempts: ['None | Not stored'],
  },
  dropped: {
    status: 'dropped',
    row: ['(bad) Dropped', ...NOTHING, 'Resend'],
    says: ['(bad)', 'Not sent yet. Dropped. It will not be retried.'],
  },
}

onBothEngines('a delivery says in its row and on its page what happened to it and what comes next', async (world) => {
  const { clock } = world.deps
  const client = await openSignedInClient(world)
  const hook = { url: 'https://hooks.example.com/', events: ['project.created'] }
  const endpoint_id = (await world.call('POST', '/v1/webhooks', hook)).body.id
  for (const [name, { status, due, held, tries = [] }] of Object.entries(STATES)) {
    const [id, now, account_id] = [`dlv_${name}`, clock.now(), world.credentials.userId]
    const due_at = due === undefined ? null : now + due * HOUR_MS
    const times = { due_at, held_at: held ? now : null, created_stamp: clock.stamp() }
    const delivery = { id, account_id, endpoint_id, type: 'project.created', status, attempts: tries.length }
    await addRows(world, 'delivery', [{ ...delivery, ...times }])
    const rows = tries.map(([status_code, error = null, response = null], at) => {
      return { delivery_id: id, attempt: at + 1, at: now + at, duration_ms: 45, status_code, error, response }
    })
    if (rows.length > 0) await addRows(world, 'delivery_attempt', rows)
  }
  const path = `/console/t/admin/webhooks/${endpoint_id}`
  const read = async (address: string) => {
    const { text } = await client.get(address)
    return readPage(text.replaceAll(/(<time[^>]*>)(?:just now|\d+ minutes? ago)/g, '$1TIME'))
  }
  const list = await read(path)
  const head = list.indexOf('State | Event | Attempts | Last response | When | Actions |')
  const rows = Object.entries(STATES).map(
    ([
      name,
      {
        row: [state, attempts, last, button],
      },
    ]) => {
      const to = `${path}/deliveries/dlv_${name}`
      const sends = button === '' ? '' : `→ ${to}/replay [${button}] `
      return `${state} | [project.created](${to}) | ${attempts} | ${last} | TIME | ${sends}|`
    },
  )
  assert.deepEqual(list.slice(head + 1, list.indexOf('## Resend deliveries')), rows.reverse())
  for (const [name, { row, says, attempts }] of Object.entries(STATES)) {
    const to = `${path}/deliveries/dlv_${name}`
    const page = await read(to)
    const table = attempts?.map((words, at) => `${at + 1} | TIME | 45 ms | ${words} |`)
    assert.deepEqual(page, [
      '[Webhooks](/console/t/admin/webhooks)',
      `[Webhook](${path})`,
      '# project.created',
      ...(row[3] === '' ? [] : [`→ ${to}/replay`, `[${row[3]}]`]),
      ...says,
      '## Delivery',
      `State: ${row[0]}`,
      'Created: TIME',
      'webhook-id: Not stored',
      `ID: dlv_${name} [Copy]`,
      '## Request',
      attempts ? 'No longer stored.' : 'Not sent yet.',
      '## Attempts',
      ...(table ? ['Attempt | When | Duration | Status | Response |', ...table] : ['None yet.']),
    ])
  }
})
