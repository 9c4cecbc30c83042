/** An offer ends with the access of its giver: each offer, each end, and the acceptance. docs/accounts.md: Offers. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { checkIdentities } from '../../../src/accounts/single-sign-on/check.ts'
import { OFFERS, type Offer } from '../../../src/platform/access/offers.ts'
import { tablesOf } from '../../../src/platform/db/tables.ts'
import { openClient, openSignedInClient, PASSWORD, pathOf } from '../../support/clients/browser-client.ts'
import { eventually } from '../../support/eventually.ts'
import { readQueuedMail } from '../../support/queued-mail.ts'
import { signInBy, startProvider } from '../../support/servers/identity-provider.ts'
import { addRows } from '../../support/states.ts'
import { digest } from '../../support/stores/digest.ts'
import { type Call, onBothEngines, openWorld, type World } from '../../support/world.ts'
import { consentAndInstall, exchange, seedIntegration } from '../../support/worlds/integration-world.ts'

const provider = await startProvider()
after(() => provider.close())
const settings = { ...provider.settings, BERTH_SMTP_URL: 'smtp://127.0.0.1:1', BERTH_MAIL_FROM: 'b@example.com' }

/** Ada offers, for the first team, which has the first user as another OWNER; Bob accepts. */
type Sides = {
  team: string
  ada: { id: string; tokenId: string; token: string; call: Call }
  bob: Awaited<ReturnType<World['user']>>
}

async function openSides(world: World): Promise<Sides> {
  const team = world.credentials.teamId
  const { id } = await world.user('ada')
  const placed = await world.operator('PUT', `/operator/v1/teams/${team}/members/${id}`, { role: 'OWNER' })
  assert.equal(placed.status, 200, placed.text)
  const made = await world.operator('POST', '/operator/v1/tokens', { userId: id })
  assert.equal(made.status, 201, made.text)
  const ada = { id, tokenId: made.body.id, token: made.body.token, call: world.as(made.body.token) }
  return { team, ada, bob: await world.user('bob') }
}

/** Accepts the offer later: `done` says whether it took effect. */
type Accept = () => Promise<{ status: number; done: boolean }>
type Offering = {
  make(world: World, sides: Sides): Promise<Accept>
  /** The status of the acceptance once the giver can offer no more. */
  refused: number
  /** Given by a user for their own account: nothing in a team ends it. */
  personal?: true
  /** Made by a token of the API. */
  byToken?: true
  /** Made by an operator, in the console. */
  byOperator?: true
}

/** TABLE how each offer is made and accepted; it has the rows of OFFERS. */
const OFFERINGS: Record<Offer | 'password link of an operator', Offering> = {
  'transfer code': {
    async make(world, { team, ada, bob }) {
      const project = await world.call('POST', `/v10/projects?teamId=${team}`, { name: 'web' })
      assert.equal(project.status, 200, project.text)
      const given = await ada.call('POST', `/projects/web/transfer-request?teamId=${team}`)
      assert.equal(given.status, 200, given.text)
      return async () => {
        const { status } = await bob.call.try('PUT', `/projects/transfer-request/${given.body.code}`, {})
        return { status, done: status === 202 }
      }
    },
    refused: 404,
    byToken: true,
  },
  invitation: {
    async make(world, { team, ada, bob }) {
      const invited = await ada.call('POST', `/v1/teams/${team}/members`, { uid: bob.id, role: 'OWNER' })
      assert.equal(invited.status, 200, invited.text)
      const row = await world.deps.db.read.selectFrom('invitation').select('id').executeTakeFirstOrThrow()
      return async () => {
        const { status } = await bob.call.try('POST', `/v1/teams/${team}/members/teams/join`, { inviteCode: row.id })
        return { status, done: status === 200 }
      }
    },
    refused: 404,
    byToken: true,
  },
  'authorization code': {
    async make(world, { team, ada }) {
      const app = await seedIntegration(world)
      const { code } = await consentAndInstall(world, app, { userId: ada.id, teamId: team })
      return async () => {
        const { status } = await exchange(world, app, code)
        return { status, done: status === 200 }
      }
    },
    refused: 403,
  },
  'password link': {
    async make({ operator, ...world }, { ada }) {
      const given = await operator('POST', `/operator/v1/users/${ada.id}/password-link`)
      assert.equal(given.status, 201, given.text)
      const path = pathOf(given.body.url)
      const client = openClient(world as World)
      await client.get(path)
      return async () => {
        const { status } = await client.post(path, { password: PASSWORD, again: PASSWORD })
        return { status, done: status === 303 }
      }
    },
    refused: 404,
    personal: true,
  },
  'password link of an operator': {
    async make(world, { ada, bob }) {
      const path = pathOf(await linkByOperator(world, ada.id, bob.id))
      const client = openClient(world)
      assert.equal((await client.get(path)).status, 200)
      return async () => {
        const { status } = await client.post(path, { password: PASSWORD, again: PASSWORD })
        return { status, done: status === 303 }
      }
    },
    refused: 404,
    personal: true,
    byOperator: true,
  },
  'email link': {
    async make(world, { ada }) {
      const client = await openSignedInClient(world, ada.id, 'ada')
      const page = '/console/account'
      await client.get(page)
      const asked = await client.post(`${page}/email/change`, { email: 'ada.new@example.com' })
      assert.equal(asked.status, 303, asked.text)
      const link = linkIn(await readQueuedMail(world), 'ada.new@example.com')
      assert.equal((await client.get(link)).status, 200)
      return async () => {
        const { status } = await client.post(link)
        const row = world.deps.db.read.selectFrom('account').select('email').where('id', '=', ada.id)
        return { status, done: (await row.executeTakeFirstOrThrow()).email === 'ada.new@example.com' }
      }
    },
    // Their session has ended: they are redirected to the sign-in.
    refused: 303,
    personal: true,
  },
  'identity link': {
    async make(world, { ada }) {
      provider.people.set('ada', { email: 'ada@example.com', email_verified: true })
      const client = openClient(world)
      const asked = await signInBy(provider, client, 'ada')
      assert.equal(asked.status, 200, asked.text)
      const link = linkIn(await readQueuedMail(world), 'ada@example.com')
      await client.get(link)
      return async () => {
        const { status } = await client.post(link)
        const bound = world.deps.db.read.selectFrom('identity').select('sub').where('user_id', '=', ada.id)
        return { status, done: (await bound.where('sub', '=', 'ada').execute()).length > 0 }
      }
    },
    refused: 404,
    personal: true,
  },
}

/** Ada becomes an operator, and creates a link in the console with which another user sets a password. */
async function linkByOperator(world: World, adaId: string, otherId: string): Promise<string> {
  await ok(world.operator('PATCH', `/operator/v1/users/${adaId}`, { operator: true }))
  const client = await openSignedInClient(world, adaId, 'ada')
  const page = `/console/operator/people/${otherId}`
  assert.equal((await client.get(page)).status, 200)
  const made = await client.post(`${page}/link`)
  assert.equal(made.status, 200, made.text)
  return /https?:\/\/[^<]*\/set-password\?link=\w+/.exec(made.text)?.[0] ?? assert.fail(made.text)
}

function linkIn(letters: { recipient: string; body_text: string }[], recipient: string): string {
  const letter = letters.findLast((one) => one.recipient === recipient) ?? assert.fail(`no letter to ${recipient}`)
  return pathOf(/https?:\S+\?link=\w+/.exec(letter.body_text)![0])
}

type End = { end(world: World, sides: Sides): Promise<unknown>; inTeam?: true; ofToken?: true; ofOperator?: true }
const place = (world: World, { team, ada }: Sides, role: string) =>
  world.operator('PUT', `/operator/v1/teams/${team}/members/${ada.id}`, { role })

/** TABLE how the right of a giver ends. */
const ENDS: Record<string, End> = {
  'is suspended': {
    end: ({ operator }, { ada }) => ok(operator('PATCH', `/operator/v1/users/${ada.id}`, { suspended: true })),
  },
  'is ended by the identity provider': {
    async end(world, { ada }) {
      // Their identity was not confirmed for more than 12 hours, and its provider cannot be called.
      const long = { refresh_token: null, checked_at: 1, due_at: 1, ended_at: null }
      await addRows(world, 'identity', [{ issuer: 'https://before.example', sub: 'x', user_id: ada.id, ...long }])
      assert.equal(await checkIdentities(world.deps, world.deps.clock.now()), 1)
    },
  },
  'is removed from the team': {
    end: ({ operator }, { team, ada }) => ok(operator('DELETE', `/operator/v1/teams/${team}/members/${ada.id}`)),
    inTeam: true,
  },
  'is made a VIEWER': { end: (world, sides) => ok(place(world, sides, 'VIEWER')), inTeam: true },
  'has not the second factor that the team demands': {
    async end(world, { team }) {
      const { id } = await world.user('strong')
      const hour = { created_at: 1, used_step: 0, confirmed_at: 1, sealed_secret: 'x' }
      await addRows(world, 'totp', [
        { user_id: world.credentials.userId, ...hour },
        { user_id: id, ...hour },
      ])
      await ok(world.call('PATCH', `/v2/teams/${team}?teamId=${team}`, { requireSecondFactor: true }))
    },
    inTeam: true,
  },
  'is not an operator any more': {
    end: ({ operator }, { ada }) => ok(operator('PATCH', `/operator/v1/users/${ada.id}`, { operator: false })),
    ofOperator: true,
  },
  'is an operator who was removed': {
    end: ({ operator }, { ada }) => ok(operator('DELETE', `/operator/v1/users/${ada.id}?force=true`)),
    ofOperator: true,
  },
  'ended the token that offered it': {
    end: ({ operator }, { ada }) => ok(operator('DELETE', `/operator/v1/tokens/${ada.tokenId}`)),
    ofToken: true,
  },
  'had that token revoked by its value': {
    end: ({ operator }, { ada }) => ok(operator('POST', '/operator/v1/tokens/revoke', { token: ada.token })),
    ofToken: true,
  },
}

async function ok(asked: Promise<{ status: number; text: string }>): Promise<void> {
  const { status, text } = await asked
  assert.ok(status < 300, `${status} ${text}`)
}

for (const [offer, { make, refused, personal = false, ...by }] of Object.entries(OFFERINGS)) {
  const { byToken = false, byOperator = false } = by
  onBothEngines(
    `an offer is accepted while its giver may give it: ${offer}`,
    async (world) => {
      const accept = await make(world, await openSides(world))
      const { status, done } = await accept()
      assert.ok(done && status < 400, `${status}`)
    },
    settings,
  )
  for (const [how, { end, inTeam = false, ofToken = false, ofOperator = false }] of Object.entries(ENDS)) {
    if ((personal && inTeam) || (ofToken && !byToken) || (ofOperator && !byOperator)) continue
    onBothEngines(
      `an offer is refused, and nothing changes, once its giver ${how}: ${offer}`,
      async (world) => {
        const sides = await openSides(world)
        const accept = await make(world, sides)
        await end(world, sides)
        const before = await digest(world)
        assert.deepEqual(await accept(), { status: refused, done: false })
        assert.equal(await digest(world), before)
      },
      settings,
    )
  }
}

/** TABLE tables that are pending and expire but are not an offer of a user, each with the reason. */
const NO_OFFERS: Record<string, string> = {
  token: 'it acts alone, and is read with its user on every request',
  session: 'it is read with its user on every request',
  half_sign_in:
    'it admits its user alone; it ends with their sessions, and the second step checks whether they are suspended',
  site_session: 'it admits its user alone, and is read with their session and their role on every request',
  spent_challenge: 'it only says what was used up',
  usage_report: 'it says which report of a sites server was counted',
  reserved_slug: 'it is kept for an account, and gives nothing',
  env_history: 'it is the age of a version',
}

test('every table with an end of its own is an offer of the table, or says why not', async () => {
  const world = await openWorld('sqlite')
  try {
    const tables = await tablesOf(world.deps.db.read)
    const ending = [...tables].filter(([, columns]) => columns.includes('expires_at')).map(([name]) => name)
    const named = [...Object.values(OFFERS).map(({ table }) => table), ...Object.keys(NO_OFFERS)]
    assert.deepEqual(ending.sort(), named.sort())
  } finally {
    await world.close()
  }
})

onBothEngines('a user who is suspended while their new password is hashed sets none', async (world) => {
  const { id } = await world.user('ada')
  const given = await world.operator('POST', `/operator/v1/users/${id}/password-link`)
  await refusedWhileHashing(world, { id, url: given.body.url }, () =>
    ok(world.operator('PATCH', `/operator/v1/users/${id}`, { suspended: true })),
  )
})

onBothEngines('the link of an operator sets no password if they are demoted while it is hashed', async (world) => {
  const [ada, bob] = [await world.user('ada'), await world.user('bob')]
  const url = await linkByOperator(world, ada.id, bob.id)
  await refusedWhileHashing(world, { id: bob.id, url }, () =>
    ok(world.operator('PATCH', `/operator/v1/users/${ada.id}`, { operator: false })),
  )
})

/** Something ends while the new password of a link is hashed: the link sets none. */
async function refusedWhileHashing(world: World, { id, url }: { id: string; url: string }, end: () => Promise<void>) {
  const client = openClient(world)
  assert.equal((await client.get(pathOf(url))).status, 200)
  const { passwords } = world.deps.adapters
  const { hash } = passwords
  passwords.hash = async (...said: Parameters<typeof hash>) => {
    await end()
    return hash(...said)
  }
  const set = await client.post(pathOf(url), { password: PASSWORD, again: PASSWORD })
  assert.equal(set.status, 404, set.text)
  assert.deepEqual(await world.deps.db.read.selectFrom('sign_in').selectAll().where('user_id', '=', id).execute(), [])
}

onBothEngines('what was offered before a suspension can be accepted after the resume', async (world) => {
  const sides = await openSides(world)
  const accept = await OFFERINGS.invitation.make(world, sides)
  for (const suspended of [true, false])
    await ok(world.operator('PATCH', `/operator/v1/users/${sides.ada.id}`, { suspended }))
  assert.deepEqual(await accept(), { status: 200, done: true })
})

onBothEngines('an offer ends with the hour of the token that made it', async (world) => {
  const { bob, team, ada } = await openSides(world)
  const now = world.deps.clock.now()
  const made = await world.operator('POST', '/operator/v1/tokens', { userId: ada.id, expiresAt: now + 3_600_000 })
  assert.equal(made.status, 201, made.text)
  const accept = await OFFERINGS.invitation.make(world, { bob, team, ada: { ...ada, call: world.as(made.body.token) } })
  world.deps.clock.set(now + 3_700_000)
  assert.deepEqual(await accept(), { status: 404, done: false })
})

/** An acceptance waits for a row that another transaction holds; the giver is ended meanwhile. */
onBothEngines(
  'an acceptance that is in flight when its giver is suspended is committed before the response, or never',
  async (world) => {
    const sides = await openSides(world)
    const accept = await OFFERINGS['transfer code'].make(world, sides)
    const { db } = world.deps
    const [held, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const holding = db.write(async (tx) => {
      await tx.selectFrom('project').select('id').forUpdate().execute()
      held.resolve()
      await release.promise
    })
    await held.promise
    const accepted = accept()
    const waiting = sql`select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await eventually(async () => (await waiting.execute(db.read)).rows.length === 1)
    const isLocked = async () => {
      const rows = db.read.selectFrom('project').select('transfer_started_at')
      return (await rows.executeTakeFirstOrThrow()).transfer_started_at !== null
    }
    const ended = ok(world.operator('PATCH', `/operator/v1/users/${sides.ada.id}`, { suspended: true })).then(isLocked)
    await eventually(async () => (await waiting.execute(db.read)).rows.length === 2)
    release.resolve()
    await holding
    const lockedAtTheAnswer = await ended
    assert.deepEqual([lockedAtTheAnswer, (await accepted).done], [true, true])
  },
  {},
  ['postgres'],
)
