/** Webhooks in the console: made with a secret that is shown once, tried, and what failed is seen and sent again. docs/console.md. */
import assert from 'node:assert/strict'
import { EVENT_NAMES } from '../../../src/events.ts'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { deliver, LOCAL, receiver, register } from '../../support/servers/receiver.ts'
import { endDeliveries } from '../../support/states.ts'
import { onBothEngines } from '../../support/world.ts'

const PATH = '/console/t/admin/webhooks'

onBothEngines('every event can be chosen, in a group that is named in words', async (world) => {
  const client = await openSignedInClient(world)
  const { text } = await client.get(`${PATH}/new`)
  const groups = [...text.matchAll(/<fieldset><legend>([^<]*)<\/legend>([\s\S]*?)<\/fieldset>/g)]
  for (const [, heading] of groups) assert.match(heading!, /^[A-Z][a-z ]+$/)
  const offered = groups.flatMap(([, , boxes]) => [...boxes!.matchAll(/name="events" value="([^"]+)"/g)])
  assert.deepEqual(offered.map(([, name]) => name).sort(), [...EVENT_NAMES].sort())
})

onBothEngines(
  'a webhook is created, tested and deleted, and its secret is shown on one page only',
  async (world, t) => {
    const to = await receiver(t)
    const client = await openSignedInClient(world)
    assert.match((await client.get(PATH)).text, /No webhooks yet/)
    await client.get(`${PATH}/new`)
    const wrong = await client.post(`${PATH}/new`, {
      url: 'gopher://x',
      events: ['project.created', 'deployment.ready'],
    })
    assert.equal(wrong.status, 400)
    assert.match(wrong.text, /id="url-fault"/)
    assert.match(wrong.text, /value="gopher:\/\/x"/)
    assert.match(wrong.text, /value="deployment.ready" checked/)
    const none = await client.post(`${PATH}/new`, { url: to.url })
    assert.equal(none.status, 400)
    assert.match(none.text, /id="events-fault"/)
    assert.ok(none.text.includes(`value="${to.url}"`), 'what was typed is kept')
    const made = await client.post(`${PATH}/new`, { url: to.url, events: ['project.created'] })
    const [, secret] = /<pre class="secret">(whsec_[^<]+)</.exec(made.text)!
    const [id] = /hook_\w+/.exec(made.text)!
    const shown = await client.get(`${PATH}/${id}`)
    assert.match(shown.text, /Active/)
    assert.ok(!`${shown.text}${(await client.get(PATH)).text}`.includes(secret!))

    to.answer((response) => response.writeHead(500).end('broken'))
    const failed = await client.post(`${PATH}/${id}/test`)
    assert.match(failed.text, /Not delivered: the endpoint returned 500/)
    assert.equal(to.got[0]!.body.type, 'webhook.test')
    assert.equal((await client.post(`${PATH}/${id}/delete`)).location, PATH)
    assert.equal((await client.get(`${PATH}/${id}`)).status, 404)
  },
  LOCAL,
)

onBothEngines(
  'a failed delivery is shown with request and attempts, and can be resent alone and by its time',
  async (world, t) => {
    const to = await receiver(t)
    const client = await openSignedInClient(world)
    const { id } = await register(world, to.url, ['project.created'])
    const path = `${PATH}/${id}`
    to.answer((response) => response.writeHead(500).end('no'))
    await world.call('POST', '/v10/projects', { name: 'web' })
    await world.call('POST', '/v10/projects', { name: 'shop' })
    await deliver(world)
    await deliver(world, world.deps.clock.now() + 10_000)
    const list = await client.get(path)
    const { host, pathname } = new URL(to.url)
    assert.ok(list.text.includes(`<h1>${host}${pathname === '/' ? '' : pathname}</h1>`))
    assert.match(
      list.text,
      /Failing<\/span> <span class="soft small">began <time[^>]*>just now<\/time><\/span>\. Last response: 500\. 2 events queued</,
    )
    assert.match((await client.get(PATH)).text, /Failing<\/span> <span class="soft small">began <time/)
    const [delivery] = /"([^"]+\/deliveries\/[^"/]+)"/.exec(list.text)!.slice(1)
    const shown = await client.get(delivery!)
    assert.match(shown.text, /&quot;type&quot;: &quot;project.created&quot;/)
    assert.match(shown.text, /<td[^>]*>500<\/td>/)
    assert.match(shown.text, /Send now/)
    assert.match(
      shown.text,
      /<div class="note bad"><svg.*?<\/svg><div class="grow">Attempt 2 failed: the endpoint returned 500 after \d+ ms\. Next attempt: <time[^>]*>in /,
    )
    assert.match(shown.text, /are shown to operators only, because this server can send to private networks/)
    assert.match(shown.text, /aria-label="Copy the webhook-id"/)

    to.answer((response) => response.end('ok'))
    assert.equal((await client.post(`${delivery}/replay`)).location, delivery)
    await deliver(world)
    assert.match(
      (await client.get(delivery!)).text,
      /<div class="note info"><svg.*?<\/svg><div class="grow">Attempt 3 succeeded: the endpoint returned 200 after \d+ ms\. <\/div><\/div>/,
    )
    assert.equal((await client.post(`${delivery}/replay`)).location, delivery, 'also one that arrived')
    assert.equal((await client.post(`${delivery}/replay`)).status, 409, 'it is in progress')
    await deliver(world)

    await endDeliveries(world, 'failed', delivery!.split('/').at(-1))
    const wrong = await client.post(`${path}/replay`, { hours: 'many', status: 'failed' })
    assert.equal(wrong.status, 400)
    assert.match(wrong.text, /id="hours-fault"/)
    const again = await client.post(`${path}/replay`, { hours: '24', status: 'failed' })
    assert.equal(again.location, path, again.text)
    assert.match((await client.get(again.location)).text, />1 sent again\.</)
    const count = to.got.length
    await deliver(world)
    assert.equal(to.got.length, count + 1)
    assert.match((await client.get(`${path}?status=failed`)).text, /No deliveries match/)
  },
  LOCAL,
)

onBothEngines(
  'a log drain is tested before its creation, disabled and enabled, and its deliveries are shown',
  async (world, t) => {
    const to = await receiver(t)
    const client = await openSignedInClient(world)
    const list = '/console/t/admin/drains'
    assert.match((await client.get(list)).text, /No log drains yet/)
    await client.get(`${list}/new`)
    const fields = {
      name: 'logs <b>',
      url: to.url,
      format: 'json',
      headers: 'Authorization: Bearer of-mine',
      sources: ['edge', 'lambda'],
      environments: ['production'],
    }
    const tried = await client.post(`${list}/new/test`, fields)
    assert.match(tried.text, /Test line delivered/)
    assert.match(tried.text, /value="logs &lt;b&gt;"/)
    assert.match(tried.text, /name="sources" value="build">/, 'what was not ticked is not ticked')
    assert.equal(to.got[0]!.headers.authorization, 'Bearer of-mine')
    const wrong = await client.post(`${list}/new`, { ...fields, url: 'nowhere' })
    assert.equal(wrong.status, 400)
    assert.match(wrong.text, /id="url-fault"><svg.*?<\/svg><span>“URL”/)
    const made = await client.post(`${list}/new`, fields)
    const [, secret] = /<pre class="secret">([^<]+)</.exec(made.text)!
    const [id] = /ld_\w+/.exec(made.text)!
    const path = `${list}/${id}`
    const shown = await client.get(path)
    assert.match(shown.text, /authorization/)
    assert.doesNotMatch(shown.text, new RegExp(`of-mine|${secret}`))

    const projectId = (await world.call('POST', '/v10/projects', { name: 'web' })).body.id
    const lines = [{ timestamp: 1, message: 'hello', source: 'edge', environment: 'production' }]
    to.answer((response) => response.writeHead(500).end())
    await world.operator('POST', `/operator/v1/projects/${projectId}/logs`, { lines })
    await deliver(world)
    await deliver(world, world.deps.clock.now() + 10_000)
    const [send] = /action="([^"]+\/replay)"/.exec((await client.get(path)).text)!.slice(1)
    to.answer((response) => response.end())
    assert.equal((await client.post(send!)).location, path)
    await deliver(world)
    assert.match((await client.get(path)).text, /Delivered/)
    assert.equal((await client.post(`${path}/disable`)).location, path)
    assert.match((await client.get(path)).text, /Disabled/)
    assert.equal((await client.post(`${path}/enable`)).location, path)
    assert.match((await client.get(path)).text, /Active/)
    assert.equal((await client.post(`${path}/delete`)).location, list)
  },
  LOCAL,
)
