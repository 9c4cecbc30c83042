/** Which events installations receive, by scope and selection, while disabled, after a takeover and at their end; and how an integration's webhook is signed. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { purgeEndedWebhooks } from '../../../src/integrations/webhooks/held.ts'
import { seedProject } from '../../support/projects.ts'
import { deliver, deliveries, LOCAL, type Receiver, receiver, register } from '../../support/servers/receiver.ts'
import { addRows, disableInstallation, enableInstallation, setGrant } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { asOperation, consentAndInstall } from '../../support/worlds/installation-rows.ts'
import { type App, seedInstallation, seedIntegration } from '../../support/worlds/integration-world.ts'

const ALL = ['read-write:project', 'read-write:global-project-env-vars', 'read-write:domain']

async function appWithHook(world: World, hook: Receiver, slug: string, scopes = ALL) {
  const app = await seedIntegration(world, { slug, scopes, webhookUrl: hook.url })
  const integration = await world.deps.db.read
    .selectFrom('integration')
    .selectAll()
    .where('id', '=', app.id)
    .executeTakeFirstOrThrow()
  return { app, integration }
}

function onTeam({ credentials }: World, more: object = {}) {
  return { userId: credentials.userId, account: { id: credentials.teamId, kind: 'team' as const }, ...more }
}

function types(hook: Receiver): string[] {
  return hook.got.map(({ body }) => body.type)
}

onBothEngines(
  'an installation receives the events that its scopes grant, of the projects that it may see, and of its own variables',
  async (world, t) => {
    const { teamId } = world.credentials
    const team = `?teamId=${teamId}`
    const seen = await seedProject(world, 'seen', team)
    await seedProject(world, 'hidden', team)
    const cases: [string, string[], 'all' | string[], string[]][] = [
      ['nothing', ['read-write:user'], 'all', []],
      [
        'projects',
        ['read:project'],
        'all',
        ['project.created', 'project.removed', 'project.removed', 'project.renamed', 'project.renamed'],
      ],
      ['selected', ['read:project'], [seen], ['project.removed', 'project.renamed']],
      ['domains', ['read:domain'], 'all', ['project.domain.created']],
      ['own', ['read:project-env-vars'], 'all', []],
      [
        'every',
        ['read:global-project-env-vars'],
        'all',
        ['project.env-variable.created', 'project.env-variable.created'],
      ],
      ['maker', ['read-write:project-env-vars'], 'all', ['project.env-variable.created']],
      ['elsewhere', ['read:global-project-env-vars'], [], []],
    ]
    const hooks = new Map<string, Receiver>()
    let maker = ''
    for (const [slug, scopes, projects] of cases) {
      const hook = await receiver(t)
      hooks.set(slug, hook)
      const { integration } = await appWithHook(world, hook, slug, scopes)
      const { token } = await consentAndInstall(world, integration, onTeam(world, { scopes, projects }))
      if (slug === 'maker') maker = token
    }
    // An installation on another account receives nothing of this account.
    const foreign = await receiver(t)
    const { integration } = await appWithHook(world, foreign, 'foreign')
    const personal = { id: world.credentials.userId, kind: 'user' as const }
    await consentAndInstall(world, integration, { userId: personal.id, account: personal })

    await seedProject(world, 'new', team)
    for (const name of ['seen', 'hidden'])
      assert.equal((await world.call('PATCH', `/v9/projects/${name}${team}`, { name: `${name}-2` })).status, 200)
    const variable = { key: 'A', value: 'v', target: ['preview'] }
    assert.equal((await world.call('POST', `/v10/projects/seen-2/env${team}`, variable)).status, 201)
    const own = await world.as(maker)('POST', `/v10/projects/seen-2/env${team}`, { ...variable, key: 'B' })
    assert.equal(own.status, 201, own.text)
    assert.equal(
      (await world.call('POST', `/v10/projects/seen-2/domains${team}`, { name: 'a.example.com' })).status,
      200,
    )
    for (const name of ['seen', 'hidden'])
      assert.equal((await world.call('DELETE', `/v9/projects/${name}-2${team}`)).status, 204)
    await deliver(world)
    for (const [slug, , , expected] of cases) assert.deepEqual(types(hooks.get(slug)!).sort(), expected, slug)
    assert.deepEqual(types(foreign), [])
    assert.equal(hooks.get('maker')!.got[0]!.body.payload.envVar.key, 'B')
    for (const hook of hooks.values()) for (const { text } of hook.got) assert.equal(text.includes('"v"'), false)
  },
  LOCAL,
)

onBothEngines(
  'an installation that was granted less than its integration asks for receives nothing beyond what it was granted',
  async (world, t) => {
    const team = `?teamId=${world.credentials.teamId}`
    const hook = await receiver(t)
    const { integration } = await appWithHook(world, hook, 'helper')
    await consentAndInstall(world, integration, onTeam(world, { scopes: ['read:project'] }))
    await seedProject(world, 'web', team)
    const domain = { name: 'a.example.com' }
    assert.equal((await world.call('POST', `/v10/projects/web/domains${team}`, domain)).status, 200)
    await deliver(world)
    assert.deepEqual(types(hook), ['project.created'])
    assert.equal((await deliveries(world, '')).length, 1, 'nothing else was meant for it, and dropped when it was sent')
  },
  LOCAL,
)

onBothEngines(
  'while an installation is disabled its events are held, and arrive in order once an owner takes ownership of it',
  async (world, t) => {
    const team = `?teamId=${world.credentials.teamId}`
    const hook = await receiver(t)
    const { integration } = await appWithHook(world, hook, 'helper')
    const { configuration } = await consentAndInstall(world, integration, onTeam(world))
    // Another installation of the same integration goes on meanwhile.
    const personal = { id: world.credentials.userId, kind: 'user' as const }
    await consentAndInstall(world, integration, { userId: personal.id, account: personal })

    await seedProject(world, 'web', team)
    await world.call('PATCH', `/v9/projects/web${team}`, { name: 'n0' })
    await disableInstallation(world, configuration.id)
    for (let at = 1; at <= 30; at++) await world.call('PATCH', `/v9/projects/n${at - 1}${team}`, { name: `n${at}` })
    await seedProject(world, 'other', team)
    await seedProject(world, 'mine')
    await world.call('PATCH', '/v9/projects/mine', { name: 'mine-2' })
    for (let round = 0; round < 3; round++) await deliver(world)
    // An event from before the installation was disabled is held too, if it is sent only now.
    assert.deepEqual(types(hook).sort(), ['project.created', 'project.created', 'project.created', 'project.renamed'])
    assert.equal((await deliveries(world, '&status=held')).length, 31)

    hook.got.length = 0
    let failures = 0
    hook.answer((response, got) => {
      // The fifth event fails once, so those after it wait.
      const fails = got.body.payload.project.name === 'n4' && failures++ === 0
      response.writeHead(fails ? 500 : 200).end()
    })
    await enableInstallation(world, configuration.id)
    // An event in the same millisecond as the takeover counts as before it.
    world.deps.clock.set(world.deps.clock.now() + 1000)
    await deliver(world)
    const names = () => hook.got.map(({ body }) => body.payload.project.name)
    assert.deepEqual(names(), ['n0', 'n1', 'n2', 'n3', 'n4'])
    await seedProject(world, 'fresh', team)
    await deliver(world)
    assert.deepEqual(names().slice(5), ['fresh'], 'a new event does not wait')
    await deliver(world, world.deps.clock.now() + 6000)
    const expected = Array.from({ length: 31 }, (_, at) => `n${at}`)
    assert.deepEqual(names(), [...expected.slice(0, 5), 'fresh', ...expected.slice(4)])
    assert.equal(hook.mostOpen() <= 4, true)
    assert.equal((await deliveries(world, '&status=held')).length, 0)
  },
  LOCAL,
)

onBothEngines(
  'events from before the takeover that were not attempted meanwhile are sent after it, in order, one after another',
  async (world, t) => {
    const team = `?teamId=${world.credentials.teamId}`
    const hook = await receiver(t)
    const { integration } = await appWithHook(world, hook, 'helper')
    const { configuration } = await consentAndInstall(world, integration, onTeam(world))
    await seedProject(world, 'n0', team)
    await deliver(world)
    hook.got.length = 0
    for (let at = 1; at <= 6; at++) await world.call('PATCH', `/v9/projects/n${at - 1}${team}`, { name: `n${at}` })
    const { clock } = world.deps
    await disableInstallation(world, configuration.id)
    clock.set(clock.now() + 1000)
    await enableInstallation(world, configuration.id)
    hook.answer((response) => void setTimeout(() => response.end(), 20))
    const before = hook.mostOpen()
    for (let round = 0; round < 3; round++) await deliver(world)
    const names = hook.got.map(({ body }) => body.payload.project.name)
    assert.deepEqual(names, ['n1', 'n2', 'n3', 'n4', 'n5', 'n6'])
    assert.deepEqual([before, hook.mostOpen()], [1, 1], 'no two are sent at once')
  },
  LOCAL,
)

onBothEngines(
  'the end of an installation is an event for it and its account, for no other installation, and its waiting events are dropped',
  async (world, t) => {
    const team = `?teamId=${world.credentials.teamId}`
    const [leaving, staying, people] = await Promise.all([receiver(t), receiver(t), receiver(t)])
    const one = await appWithHook(world, leaving, 'leaving')
    const two = await appWithHook(world, staying, 'staying')
    const { configuration } = await consentAndInstall(world, one.integration, onTeam(world))
    await consentAndInstall(world, two.integration, onTeam(world))
    const events = ['integration-configuration.removed']
    assert.equal((await world.call('POST', `/v1/webhooks${team}`, { url: people.url, events })).status, 200)

    const day = 86_400_000
    const yesterday = world.deps.clock.now() - day
    await disableInstallation(world, configuration.id, 'original-owner-left-the-team', yesterday)
    await seedProject(world, 'web', team)
    await world.call('PATCH', `/v9/projects/web${team}`, { name: 'held' })
    await deliver(world)
    assert.deepEqual(types(leaving), ['project.created'])
    const run = { now: world.deps.clock.now() + 30 * day }
    const swept = await world.operator('POST', '/operator/v1/timers/disabled-configurations/run', run)
    assert.equal(swept.body.swept, 1, swept.text)
    await seedProject(world, 'after', team)
    await deliver(world)
    await deliver(world, run.now)
    assert.deepEqual(types(leaving), ['project.created', 'integration-configuration.removed'])
    assert.equal(leaving.got[1]!.body.payload.configuration.id, configuration.id)
    assert.deepEqual(types(people), ['integration-configuration.removed'])
    assert.deepEqual(types(staying).sort(), ['project.created', 'project.created', 'project.renamed'])
    assert.equal((await deliveries(world, '&status=dropped')).length, 1)
  },
  LOCAL,
)

onBothEngines(
  "an integration's client secrets sign, both while there are two, and the older one the old header",
  async (world, t) => {
    const team = `?teamId=${world.credentials.teamId}`
    const hook = await receiver(t)
    const { app, integration } = await appWithHook(world, hook, 'helper')
    await consentAndInstall(world, integration, onTeam(world))
    const sent = async (name: string) => {
      await seedProject(world, name, team)
      await deliver(world)
      return hook.got.at(-1)!
    }
    const verifies = (got: Awaited<ReturnType<typeof sent>>, secret: string) => {
      try {
        // The bytes of the secret are the key; the library takes them raw or as base64.
        new Webhook(secret, { format: 'raw' }).verify(got.text, got.headers)
        new Webhook(Buffer.from(secret).toString('base64')).verify(got.text, got.headers)
        return true
      } catch {
        return false
      }
    }
    const old = (got: Awaited<ReturnType<typeof sent>>, { clientSecret }: Pick<App, 'clientSecret'>) =>
      createHmac('sha1', clientSecret).update(got.text).digest('hex') === got.headers['x-vercel-signature']
    const first = await sent('a')
    assert.deepEqual([verifies(first, app.clientSecret), old(first, app)], [true, true])
    const secrets = `/operator/v1/integrations/${app.id}/secrets` as const
    const newer = (await world.operator('POST', secrets)).body
    const both = await sent('b')
    assert.equal(both.headers['webhook-signature']!.split(' ').length, 2)
    assert.deepEqual(
      [verifies(both, app.clientSecret), verifies(both, newer.clientSecret), old(both, app), old(both, newer)],
      [true, true, true, false],
    )
    assert.equal((await world.operator('DELETE', `${secrets}/${app.secretId}`)).status, 204)
    const last = await sent('c')
    assert.deepEqual(
      [verifies(last, app.clientSecret), verifies(last, newer.clientSecret), old(last, newer)],
      [false, true, true],
    )
    assert.equal((await world.call('GET', `/v1/webhooks${team}`)).body.length, 0, 'it is not a webhook of the account')
  },
  LOCAL,
)

onBothEngines(
  'an installation registers webhooks of its own, sees no others, and receives with them what it was granted',
  async (world, t) => {
    const team = `?teamId=${world.credentials.teamId}`
    const hook = await receiver(t)
    const quiet = await receiver(t)
    const { integration } = await appWithHook(world, quiet, 'helper', [
      'read:project',
      'read-write:integration-configuration',
    ])
    const { configuration, token } = await consentAndInstall(world, integration, onTeam(world))
    const call = world.as(token)
    const theirs = (await world.call('POST', `/v1/webhooks${team}`, { url: hook.url, events: ['project.created'] }))
      .body
    const events = ['project.created', 'project.renamed']
    const made = await call('POST', `/v1/webhooks${team}`, { url: hook.url, events })
    assert.deepEqual([made.status, made.body.configurationId], [200, configuration.id])
    assert.deepEqual(
      (await call('GET', `/v1/webhooks${team}`)).body.map(({ id }: { id: string }) => id),
      [made.body.id],
    )
    for (const method of ['GET', 'PATCH', 'DELETE'] as const)
      assert.equal(
        (await call.try(method, `/v1/webhooks/${theirs.id}${team}`, method === 'PATCH' ? {} : undefined)).status,
        404,
      )
    assert.equal((await world.call('GET', `/v1/webhooks${team}`)).body.length, 2)
    const env = { url: hook.url, events: ['project.env-variable.created'] }
    assert.equal((await call.try('POST', `/v1/webhooks${team}`, env)).status, 403)

    const project = await seedProject(world, 'web', team)
    await deliver(world)
    const heard = () => hook.got.filter(({ body }) => body.type === 'project.renamed').length
    assert.equal(hook.got.length, 2)
    await setGrant(world, configuration.id, { selection: 'selected' })
    await world.call('PATCH', `/v9/projects/web${team}`, { name: 'b' })
    await deliver(world)
    assert.equal(heard(), 0)
    await addRows(world, 'configuration_project', [{ configuration_id: configuration.id, project_id: project }])
    await world.call('PATCH', `/v9/projects/b${team}`, { name: 'c' })
    // The scope is taken away before the event is sent, so it is not sent.
    await setGrant(world, configuration.id, { scopes: [] })
    await deliver(world)
    assert.equal(heard(), 0)
    await setGrant(world, configuration.id, { scopes: ['read:project'] })
    await world.call('PATCH', `/v9/projects/c${team}`, { name: 'd' })
    await deliver(world)
    assert.equal(heard(), 1)
  },
  LOCAL,
)

onBothEngines(
  'a webhook that is removed before an event is sent receives nothing',
  async (world, t) => {
    const hook = await receiver(t)
    const { id } = await register(world, hook.url)
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await seedProject(world, name)
    assert.equal((await world.call('DELETE', `/v1/webhooks/${id}`)).status, 204)
    await deliver(world)
    assert.equal(hook.got.length, 0)
    assert.equal((await deliveries(world, '&status=dropped')).length, 6)
  },
  LOCAL,
)

onBothEngines(
  'an event about a variable of others is not sent after the scope for it was taken away; an event about an own variable is',
  async (world, t) => {
    const { teamId } = world.credentials
    const team = `?teamId=${teamId}`
    const hook = await receiver(t)
    const scopes = ['read:global-project-env-vars', 'read-write:project-env-vars']
    const app = await seedIntegration(world, { slug: 'keys', scopes, webhookUrl: hook.url })
    const { call } = await seedInstallation(world, { app })
    await seedProject(world, 'web', team)
    hook.answer((response) => response.writeHead(500).end())
    const variable = { value: 'x', type: 'encrypted', target: ['preview'] }
    assert.equal((await world.call('POST', `/v10/projects/web/env${team}`, { ...variable, key: 'THEIRS' })).status, 201)
    assert.equal((await call('POST', `/v10/projects/web/env${team}`, { ...variable, key: 'OWN' })).status, 201)
    await deliver(world)
    assert.ok(hook.got.length > 0)
    hook.got.length = 0
    const less = { scopes: ['read-write:project-env-vars'] }
    assert.equal((await world.operator('PATCH', `/operator/v1/integrations/${app.id}`, less)).status, 200)
    hook.answer((response) => response.end())
    await deliver(world, world.deps.clock.now() + 60_000)
    assert.deepEqual(
      hook.got.map(({ body }) => body.payload.envVar.key),
      ['OWN'],
    )
  },
  LOCAL,
)

onBothEngines(
  'a webhook that an installation registered receives the end of that installation, then nothing, and is removed after that',
  async (world, t) => {
    const team = `?teamId=${world.credentials.teamId}`
    const own = await receiver(t)
    const app = await appWithHook(world, await receiver(t), 'helper', [...ALL, 'read-write:integration-configuration'])
    const { configuration, token } = await consentAndInstall(world, app.integration, onTeam(world))
    const events = ['integration-configuration.removed', 'project.created']
    const made = await world.as(token)('POST', `/v1/webhooks${team}`, { url: own.url, events })
    assert.equal(made.status, 200, made.text)
    const other = await world.as(token)('POST', `/v1/webhooks${team}`, { url: own.url, events: ['project.created'] })
    assert.equal(other.status, 200, other.text)
    own.answer((response) => response.writeHead(500).end())
    const gone = await world.call('DELETE', `/v1/integrations/configuration/${configuration.id}${team}`)
    assert.equal(gone.status, 204, gone.text)
    await seedProject(world, 'after', team)
    assert.equal((await world.call.try('GET', `/v1/webhooks/${made.body.id}${team}`)).status, 404)
    assert.deepEqual((await world.call('GET', `/v1/webhooks${team}`)).body, [])
    await deliver(world)
    assert.deepEqual(types(own), ['integration-configuration.removed'])
    assert.equal(own.got[0]!.body.payload.configuration.id, configuration.id)
    const hooks = async () =>
      (await world.deps.db.read.selectFrom('webhook').select('id').where('ended_at', 'is not', null).execute()).map(
        ({ id }) => id,
      )
    const sweep = () => world.operator('POST', '/operator/v1/timers/ended-webhooks/run', {})
    // A delivery still waits for `made`, which ended first. A sweep of one row must not stop at it.
    assert.equal(await asOperation(world, (ctx) => purgeEndedWebhooks(ctx, 1)), 1)
    assert.deepEqual(await hooks(), [made.body.id], 'a webhook that waits for a delivery stays')
    await sweep()
    assert.deepEqual(await hooks(), [made.body.id])
    own.answer((response) => response.end())
    await deliver(world, Date.now() + 60_000)
    assert.deepEqual(types(own), ['integration-configuration.removed', 'integration-configuration.removed'])
    new Webhook(made.body.secret).verify(own.got[1]!.text, own.got[1]!.headers)
    await sweep()
    assert.deepEqual(await hooks(), [])
  },
  LOCAL,
)
