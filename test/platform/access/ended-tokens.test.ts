/** Access that ends, a token or a place in a team: nothing is committed with it after the answer. docs/decisions/0054 and 0087. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { eventually } from '../../support/eventually.ts'
import { type ApiResponse, type Call, onBothEngines, type World } from '../../support/world.ts'
import {
  type App,
  consentAndInstall,
  exchange,
  formOf,
  seedIntegration,
} from '../../support/worlds/integration-world.ts'

type Given = { app: App; code: string; token: string }

const WAYS: Record<string, (world: World, given: Given) => Promise<ApiResponse>> = {
  'a revoked token': async (world, { app, token }) => {
    const form = formOf({ client_id: app.clientId, client_secret: app.clientSecret, token })
    const revoked = await world.as(undefined).try('POST', '/v2/oauth/revoke', form)
    assert.equal(revoked.status, 200)
    return revoked
  },
  'the token of a code that came again': async (world, { app, code }) => {
    const again = await exchange(world, app, code)
    assert.equal(again.status, 400)
    return again
  },
}

for (const [what, end] of Object.entries(WAYS)) {
  onBothEngines(`no write of ${what} is committed after the answer`, async (world) => {
    const team = `teamId=${world.credentials.teamId}`
    const { body: project } = await world.call('POST', `/v10/projects?${team}`, { name: 'site' })
    const app = await seedIntegration(world)
    const { code } = await consentAndInstall(world, app)
    const token: string = (await exchange(world, app, code)).body.access_token
    const url = `/v10/projects/${project.id}/env?${team}` as const
    const variable = { key: 'KEY', value: 'value', target: ['production'], type: 'plain' }

    const write = () => world.as(token).try('POST', url, variable)
    const seen = await endDuring(world, project.id, write, () => end(world, { app, code, token }))
    assert.deepEqual(seen, { written: 201, stored: ['KEY'] })
    assert.equal((await world.as(token).try('POST', url, { ...variable, key: 'LATER' })).status, 401)
  })
}

type Person = { id: string; call: Call; team: string; tokenId: string }

/** What ends the access of a user, and the response to their later write. */
const ENDS: Record<string, { end: (world: World, person: Person) => Promise<ApiResponse>; later: number }> = {
  'a token that the operator ends': {
    end: ({ operator }, { tokenId }) => operator.try('DELETE', `/operator/v1/tokens/${tokenId}`),
    later: 401,
  },
  'a token that ends itself': { end: (_, { call }) => call.try('DELETE', '/v3/user/tokens/current'), later: 401 },
  'a member whom the operator removes': {
    end: ({ operator }, { team, id }) => operator.try('DELETE', `/operator/v1/teams/${team}/members/${id}`),
    later: 403,
  },
  'a member whom the operator makes a VIEWER': {
    end: ({ operator }, { team, id }) =>
      operator.try('PUT', `/operator/v1/teams/${team}/members/${id}`, { role: 'VIEWER' }),
    later: 403,
  },
  'a member whom an owner removes': {
    end: (world, { team, id }) => world.call.try('DELETE', `/v1/teams/${team}/members/${id}`),
    later: 403,
  },
  'a member whom an owner makes a VIEWER': {
    end: (world, { team, id }) => world.call.try('PATCH', `/v1/teams/${team}/members/${id}`, { role: 'VIEWER' }),
    later: 403,
  },
  'a member who leaves': {
    end: (_, { call, team, id }) => call.try('DELETE', `/v1/teams/${team}/members/${id}?teamId=${team}`),
    later: 403,
  },
}

/** A member of the first team with a project there. */
async function openMember(world: World) {
  const team = world.credentials.teamId
  const { id } = await world.user('ada')
  await world.operator('PUT', `/operator/v1/teams/${team}/members/${id}`, { role: 'MEMBER' })
  const made = (await world.operator('POST', '/operator/v1/tokens', { userId: id })).body
  const { body: project } = await world.call('POST', `/v10/projects?teamId=${team}`, { name: 'site' })
  const person = { id, call: world.as(made.token), team, tokenId: made.id }
  const write = (key: string) =>
    person.call.try('POST', `/v10/projects/${project.id}/env?teamId=${team}`, { key, value: 'v', target: ['preview'] })
  return { person, project, write }
}

for (const [what, { end, later }] of Object.entries(ENDS)) {
  onBothEngines(`no write of ${what} is committed after the answer`, async (world) => {
    const { person, project, write } = await openMember(world)
    const during = () => write('EARLY')
    const seen = await endDuring(world, project.id, during, () => end(world, person))
    assert.deepEqual(seen, { written: 201, stored: ['EARLY'] })
    assert.equal((await write('LATER')).status, later)
  })

  onBothEngines(`after the answer nothing of ${what} succeeds in a storm`, async (world) => {
    const { person, write } = await openMember(world)
    const done: { at: number; status: number }[] = []
    let ended = Number.POSITIVE_INFINITY
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let turn = 0; turn < 15; turn++) {
        const { status } = await write(`KEY_${writer}_${turn}`)
        done.push({ at: performance.now(), status })
        if (performance.now() > ended) break
      }
    })
    // In the middle of them: the first are stored, and most are still to be written.
    await eventually(() => done.filter(({ status }) => status === 201).length >= 8)
    const answer = await end(world, person)
    ended = performance.now()
    assert.ok(answer.status < 300, answer.text)
    const kept = await keysOf(world)
    await Promise.all(writers)
    assert.deepEqual(await keysOf(world), kept, 'what is stored when the answer comes is all that ever is')
    assert.ok(done.every(({ status }) => [201, 401, 403].includes(status)))
  })
}

async function keysOf({ deps }: World): Promise<string[]> {
  const rows = await deps.db.read.selectFrom('env_var').select('key').execute()
  return rows.map((row) => row.key).sort()
}

/**
 * A write is in flight and waits for the project; access is ended meanwhile; then the project is released. Returns the response to
 * the write, and what is stored when the ending has its response: nothing may be added later.
 */
async function endDuring(
  world: World,
  projectId: string,
  write: () => Promise<ApiResponse>,
  end: () => Promise<ApiResponse>,
) {
  const release = Promise.withResolvers<void>()
  const writes = countWrites(world)
  const held = holdProject(world, projectId, release.promise)
  await held.begun
  const written = write()
  await eventually(() => writes.count === 2)
  await untilItWaits(world)
  const ended = end().then(async ({ status }) => ({ status, stored: await keysOf(world) }))
  // For as long as this it must wait.
  await sleep(100)
  release.resolve()
  await held.done
  const { status, stored } = await ended
  assert.ok(status < 500, String(status))
  return { written: (await written).status, stored }
}

/** Counts the transactions that were asked for. */
function countWrites({ deps: { db } }: World): { count: number } {
  const writes = { count: 0 }
  const { write } = db
  db.write = (work, owner) => {
    writes.count++
    return write(work, owner)
  }
  return writes
}

/** Until the write waits for the project. The embedded store runs one after another: there it is enough that it was asked for. */
async function untilItWaits({ deps: { db } }: World): Promise<void> {
  if (db.engine === 'sqlite') return
  const waiting = sql`select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await eventually(async () => (await waiting.execute(db.read)).rows.length > 0)
}

/** Keeps writes to the project in flight until `until`. */
function holdProject({ deps: { db } }: World, id: string, until: Promise<void>) {
  const begun = Promise.withResolvers<void>()
  const done = db.write(async (tx) => {
    const row = tx.selectFrom('project').select('id').where('id', '=', id)
    await (db.engine === 'postgres' ? row.forUpdate() : row).execute()
    begun.resolve()
    await until
  })
  return { begun: begun.promise, done }
}
