/** Every letter that is promised comes again when its reason comes again, also on the same day. Specification: Integration configuration; docs/limits.md. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { updateIntegrationAndInstallations } from '../../../src/integrations/installations/scope-change.ts'
import { disableEndpoint } from '../../../src/integrations/webhooks/disable.ts'
import { sendDueMail } from '../../../src/platform/mail/worker.ts'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { readQueuedMail } from '../../support/queued-mail.ts'
import { root } from '../../support/root.ts'
import { addRows } from '../../support/states.ts'
import { type ApiResponse, onBothEngines, type World } from '../../support/world.ts'
import { asOperation } from '../../support/worlds/installation-rows.ts'
import { openTeam, setRole } from '../../support/worlds/team-installation.ts'

const DAY_MS = 86_400_000
const SETTINGS = { BERTH_SMTP_URL: 'smtp://127.0.0.1:1', BERTH_MAIL_FROM: 'b@example.com' }

/** A letter: what provokes it, and undoes that so that it can be provoked again; who reads it, and its subject. */
type Promised = {
  from: string
  subject: RegExp
  open(world: World): Promise<{ recipient: string; provoke(): Promise<void> }>
}

async function ok(asked: Promise<ApiResponse<unknown>>): Promise<void> {
  const { status, text } = await asked
  assert.ok(status < 400, `${status} ${text}`)
}

async function adminOf({ deps, credentials }: World): Promise<string> {
  const row = deps.db.read.selectFrom('account').select('email').where('id', '=', credentials.userId)
  return (await row.executeTakeFirstOrThrow()).email!
}

/** Ada has an installation and a webhook on the team, and loses and gets back her role. */
async function openDemoted(world: World) {
  const { teamId } = world.credentials
  const { ada, installed } = await openTeam(world)
  const hook = { url: 'https://hooks.example.com', events: ['project.created'] }
  const made = await ada.call('POST', `/v1/webhooks?teamId=${teamId}`, hook)
  assert.equal(made.status, 200, made.text)
  const takeOver = (path: string) => ok(ada.call('POST', `${path}/transfer-ownership?teamId=${teamId}`))
  return {
    recipient: await adminOf(world),
    async provoke() {
      await setRole(world, ada.id, 'VIEWER')
      await setRole(world, ada.id, 'OWNER')
      await takeOver(`/v1/integrations/configuration/${installed.configuration.id}`)
      await takeOver(`/v1/webhooks/${made.body.id}`)
    },
  }
}

/** TABLE the letters that are promised. */
const PROMISED: Record<string, Promised> = {
  'an integration asks for more access': {
    from: 'src/integrations/installations/scope-mail.ts',
    subject: /requests more access/,
    async open(world) {
      const { integration } = await openTeam(world)
      const ask = (scopes: string[]) =>
        asOperation(world, async (ctx) => {
          const rows = ctx.db.selectFrom('integration').selectAll().where('id', '=', integration.id)
          const input = { version: 1, params: {}, query: {}, body: { scopes } }
          await updateIntegrationAndInstallations(ctx, await rows.executeTakeFirstOrThrow(), input)
        })
      return {
        recipient: await adminOf(world),
        async provoke() {
          await ask(['read:project', 'read:user'])
          await ask(['read-write:project', 'read:user'])
        },
      }
    },
  },
  'installations are disabled': {
    from: 'src/integrations/installations/disable.ts',
    subject: /^Integrations of .* are disabled/,
    open: openDemoted,
  },
  'webhooks and log drains are held': {
    from: 'src/integrations/webhooks/held.ts',
    subject: /need an owner$/,
    open: openDemoted,
  },
  'an endpoint is disabled': {
    from: 'src/integrations/webhooks/disable.ts',
    subject: /^A webhook is disabled/,
    async open(world) {
      const hook = { url: 'https://hooks.example.com', events: ['project.created'] }
      const { body, status, text } = await world.call('POST', '/v1/webhooks', hook)
      assert.equal(status, 200, text)
      return {
        recipient: await adminOf(world),
        async provoke() {
          await asOperation(world, async (ctx) => {
            const rows = ctx.db.selectFrom('webhook').selectAll().where('id', '=', body.id)
            await disableEndpoint(ctx, 'webhook', await rows.executeTakeFirstOrThrow(), 'gone')
          })
          await ok(world.call('PATCH', `/v1/webhooks/${body.id}`, { enabled: true }))
        },
      }
    },
  },
  'a user is invited': {
    from: 'src/accounts/members/invitations.ts',
    subject: /^Invitation to the team/,
    async open(world) {
      const path = `/v1/teams/${world.credentials.teamId}/members` as const
      return {
        recipient: 'new@example.com',
        async provoke() {
          const invited = await world.call('POST', path, { email: 'new@example.com', role: 'VIEWER' })
          assert.equal(invited.status, 200, invited.text)
          await ok(world.call('DELETE', `${path}/${invited.body.uid}`))
        },
      }
    },
  },
  'a link sets a password': {
    from: 'src/accounts/sign-in/password-link.ts',
    subject: /^Set your password/,
    async open(world) {
      const { id } = await world.user('ada')
      const provoke = () => ok(world.operator('POST', `/operator/v1/users/${id}/password-link`))
      return { recipient: 'ada@example.com', provoke }
    },
  },
  'another email is asked for': {
    from: 'src/accounts/users/profile.ts',
    subject: /^A change of your email was requested/,
    async open(world) {
      const client = await openSignedInClient(world)
      const recipient = await adminOf(world)
      return {
        recipient,
        async provoke() {
          await client.get('/console/account')
          const asked = await client.post('/console/account/email/change', { email: 'new@example.com' })
          assert.equal(asked.status, 303, asked.text)
        },
      }
    },
  },
  'second factors are removed': {
    from: 'src/accounts/second-factor/second-factor.ts',
    subject: /second factors were removed/,
    async open(world) {
      const { id } = await world.user('ada')
      const totp = { user_id: id, sealed_secret: 'x', created_at: 1, confirmed_at: 1, used_step: 0 }
      return {
        recipient: 'ada@example.com',
        async provoke() {
          await addRows(world, 'totp', [totp])
          await ok(world.operator('DELETE', `/operator/v1/users/${id}/second-factors`))
        },
      }
    },
  },
}

/** TABLE other code that writes letters, each with the test that has them. */
const ELSEWHERE: Record<string, string> = {
  'src/integrations/deliveries/overflow.ts': 'a topic without news: mail.test.ts has a second letter about a topic',
  'src/integrations/drains/ingest.ts': 'a topic without news: mail.test.ts has a second letter about a topic',
  'src/projects/serving/failure-mail.ts': 'a topic without news: failure-mail.test.ts has a second one',
  'src/accounts/single-sign-on/identities.ts': 'without a topic, as the password link: nothing holds a second one back',
}

for (const [what, { open, subject }] of Object.entries(PROMISED)) {
  onBothEngines(
    `a letter that is promised comes each time, a second one of the day too: ${what}`,
    async (world) => {
      const { recipient, provoke } = await open(world)
      const ofThem = async () =>
        (await readQueuedMail(world)).filter((one) => one.recipient === recipient && subject.test(one.subject))
      await provoke()
      assert.equal((await ofThem()).length, 1)
      await provoke()
      const letters = await ofThem()
      assert.equal(letters.length, 2)
      const latest = world.deps.clock.now() + DAY_MS
      assert.ok(letters.every(({ due_at }) => due_at !== null && due_at <= latest))
    },
    SETTINGS,
  )
}

test('every file that writes letters has its letters in the table', () => {
  const writing = globSync('src/**/*.ts', { cwd: root }).filter(
    (file) =>
      !file.startsWith('src/platform/mail/') &&
      /\b(queueMail|mailOwners|mailEndpointOwners)\(/.test(readFileSync(join(root, file), 'utf8')),
  )
  const named = [...Object.values(PROMISED).map(({ from }) => from), ...Object.keys(ELSEWHERE)]
  assert.deepEqual(writing.sort(), [...new Set(named)].sort())
})

onBothEngines('a letter that was held back is posted the day after, and not before', async (world) => {
  const { provoke, recipient } = await PROMISED['an integration asks for more access']!.open(world)
  await provoke()
  await provoke()
  const sent = async () =>
    (await readQueuedMail(world)).filter((one) => one.recipient === recipient && one.sent_at !== null).length
  await sendDueMail(world.deps)
  assert.equal(await sent(), 1)
  world.deps.clock.set(world.deps.clock.now() + DAY_MS - 60_000)
  await sendDueMail(world.deps)
  assert.equal(await sent(), 1)
  world.deps.clock.set(world.deps.clock.now() + 120_000)
  await sendDueMail(world.deps)
  assert.equal(await sent(), 2)
})

onBothEngines(
  'where a team has no OWNER left, every member is notified, and the operator gets what to do',
  async (world) => {
    const { teamId, userId } = world.credentials
    const { installed, ada } = await openTeam(world)
    const [bob, eve] = [await world.user('bob'), await world.user('eve')]
    await world.join(bob, 'DEVELOPER')
    await world.join(eve, 'VIEWER')
    await setRole(world, ada.id, 'OWNER')
    await ok(world.operator('DELETE', `/operator/v1/teams/${teamId}/members/${userId}`))
    // A member whom others made OWNER may leave as the last one.
    await ok(ada.call('DELETE', `/v1/teams/${teamId}/members/${ada.id}?teamId=${teamId}`))
    const disabled = (await readQueuedMail(world)).filter(({ subject }) => /are disabled/.test(subject))
    assert.deepEqual(disabled.map(({ recipient }) => recipient).sort(), ['bob@example.com', 'eve@example.com'])
    for (const { body_text } of disabled) assert.match(body_text, /no OWNER who can sign in.*team member add/s)
    const report = await world.operator('GET', '/operator/v1/report')
    assert.equal(report.status, 200, report.text)
    assert.match(report.text, /has no OWNER who can become its owner: berth team member add team USER --role OWNER/)
    const row = world.deps.db.read.selectFrom('configuration').select('disabled_at')
    assert.notEqual(
      (await row.where('id', '=', installed.configuration.id).executeTakeFirstOrThrow()).disabled_at,
      null,
    )
  },
)
