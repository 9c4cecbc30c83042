/** The letters about endpoints that are disabled: whom they reach, and all that they say. docs/webhooks.md: Retries. */
import assert from 'node:assert/strict'
import { withQuery } from '../../support/call.ts'
import { readQueuedMail } from '../../support/queued-mail.ts'
import { deliver, LOCAL, receiver } from '../../support/servers/receiver.ts'
import { onBothEngines } from '../../support/world.ts'
import { consentAndInstall, seedIntegration } from '../../support/worlds/integration-world.ts'
import { leave, setRole } from '../../support/worlds/team-installation.ts'

onBothEngines(
  'the letter about a disabled endpoint reaches its maker, or the owners of the team once the maker left, and no other user',
  async (world, t) => {
    const target = await receiver(t)
    target.answer((response) => response.writeHead(410).end())
    const { url } = target
    const { host } = new URL(url)
    const { teamId } = world.credentials
    const on = <const U extends string>(path: U) => withQuery(path, `teamId=${teamId}`)
    const [ada, eve, mel] = [await world.user('ada'), await world.user('eve'), await world.user('mel')]
    for (const [user, role] of [
      [ada, 'OWNER'],
      [eve, 'OWNER'],
      [mel, 'MEMBER'],
    ] as const)
      await setRole(world, user.id, role)
    const app = await seedIntegration(world)
    await eve.call('PATCH', on(`/v1/integrations/apps/${app.id}`), { webhookUrl: url })
    await consentAndInstall(world, app)
    const hook = (await mel.call('POST', on('/v1/webhooks'), { url, events: ['project.created'] })).body.id
    const own = (await mel.call('POST', '/v1/webhooks', { url, events: ['project.created'] })).body.id
    const drained = { url, deliveryFormat: 'json', sources: ['static'] }
    const drain = (await mel.call('POST', on('/v1/log-drains'), drained)).body.id
    await leave(world, eve.id)

    const projectId = (await world.call('POST', on('/v10/projects'), { name: 'web' })).body.id
    await mel.call('POST', '/v10/projects', { name: 'web' })
    const lines = [{ timestamp: 1, message: 'x', source: 'static' }]
    await world.operator('POST', `/operator/v1/projects/${projectId}/logs`, { lines })
    await deliver(world)
    const { id: ofApp } = await world.deps.db.read
      .selectFrom('webhook')
      .select('id')
      .where('integration_id', '=', app.id)
      .executeTakeFirstOrThrow()

    const said = (kind: string, id: string, ...more: string[]) =>
      [
        `The ${kind} ${id}, which goes to ${host}, is disabled: it responded 410, which means that it was removed permanently.`,
        '',
        'Nothing is sent to it any more. Events that happen meanwhile are not sent later.',
        ...more,
      ].join('\n')
    const enable = (id: string, how: string) => [
      `Once it works again, enable it: ${how}.`,
      `Deliveries that failed or were dropped are listed for 30 days. You can send each of them again: GET /v1/webhooks/${id}/deliveries`,
    ]
    const again = enable(ofApp, `set the webhookUrl of the integration ${app.id} again`)
    const letters = (await readQueuedMail(world)).filter(({ subject }) => subject.includes('is disabled'))
    assert.deepEqual(
      letters.map(({ recipient, subject, body_text }) => `${recipient} ${subject}\n${body_text}`).sort(),
      [
        `ada@example.com A webhook is disabled: ${host}\n${said('webhook', ofApp, ...again)}`,
        `admin@berth.localhost A webhook is disabled: ${host}\n${said('webhook', ofApp, ...again)}`,
        `mel@example.com A log drain is disabled: ${host}\n${said('log drain', drain)}`,
        ...[hook, own]
          .map((id) => said('webhook', id, ...enable(id, `PATCH /v1/webhooks/${id} {"enabled": true}`)))
          .map((text) => `mel@example.com A webhook is disabled: ${host}\n${text}`)
          .sort(),
      ],
    )
  },
  LOCAL,
)
