/** The forms of a project's pages: they do nothing for a user without the permission, and accept no id of another account. docs/console.md: Forms. */
import assert from 'node:assert/strict'
import { SCREENS } from '../../../src/screens.ts'
import { type Fields, openSignedInClient } from '../../support/clients/browser-client.ts'
import { seedDeployment } from '../../support/projects.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { FORMS, formsBelow } from '../form-table.ts'

const START = '/console/t/:slug/'

function forms(): string[] {
  return formsBelow(START, /^(new|receive|projects\/.*)$/).map((path) => path.slice(START.length))
}

/** What a good form holds, as far as it is the same in every world. */
function goodOf(path: string): Fields {
  const { good } = FORMS[`${START}${path}`]!
  return typeof good === 'object' ? good : {}
}

/** A project with something for each form, in the first team. */
async function open(world: World) {
  const { teamId } = world.credentials
  const { slug } = (await world.call('GET', `/v2/teams/${teamId}`)).body as { slug: string }
  const project = (await world.call('POST', `/v10/projects?teamId=${teamId}`, { name: 'web' })).body
  const body = { key: 'A', value: '1', target: ['preview'] }
  const variable = (await world.call('POST', `/v10/projects/web/env?teamId=${teamId}`, body)).body.created
  await world.call('POST', `/v10/projects/web/domains?teamId=${teamId}`, { name: 'www.example.com' })
  await world.call('POST', `/v9/projects/web/custom-environments?teamId=${teamId}`, { slug: 'staging' })
  const deployment = await seedDeployment(world, project.id, { url: 'one.host.test', target: 'preview' })
  const fill = (path: string) =>
    `${START}${path}`
      .replace(':slug', slug)
      .replace(':name', 'web')
      .replace(':version', '1')
      .replace(':domain', 'www.example.com')
      .replace(':alias', 'www.example.com')
      .replace(':environmentSlugOrId', 'staging')
      .replace(':id', path.includes('deployments') ? deployment : variable.id)
  return { slug, fill }
}

/** What the account has, as a token sees it. */
async function stateOf({ call, credentials: { teamId } }: World): Promise<string> {
  const answers = await Promise.all(
    [`/v9/projects?`, `/v9/projects/web/env?`, `/v9/projects/web/domains?`].map((path) =>
      call('GET', `${path}teamId=${teamId}` as '/v9/projects'),
    ),
  )
  return answers.map(({ text }) => text).join('\n')
}

onBothEngines('ids that are not there, and those of others, are not found', async (world) => {
  const { fill } = await open(world)
  const client = await openSignedInClient(world)
  await client.get(fill('new'))
  for (const path of forms().filter((one) => /:id|:domain/.test(one))) {
    const url = `${START}${path}`
      .replace(':slug', fill('').split('/')[3]!)
      .replace(':name', 'web')
      .replace(':version', '1')
      .replace(/:id|:domain/, encodeURIComponent('😀nobody.example.com'))
    const answer = await client.post(url, { ...goodOf(path) })
    assert.ok([400, 404].includes(answer.status), `${path}: ${answer.status} ${answer.text.slice(0, 300)}`)
  }
  for (const path of forms().filter((one) => one.includes(':name'))) {
    const answer = await client.post(fill(path).replace('/projects/web', '/projects/nobody'), {
      ...goodOf(path),
      typed: 'nobody',
    })
    assert.ok([400, 404].includes(answer.status), `${path}: ${answer.status}`)
  }
})

onBothEngines('no form changes anything for a viewer, and a user of another account gets 404', async (world) => {
  const { fill, slug } = await open(world)
  const viewer = await world.user('viewer')
  await world.join(viewer, 'VIEWER')
  const clients = {
    viewer: await openSignedInClient(world, viewer.id, 'viewer'),
    stranger: await openSignedInClient(world, (await world.user('stranger')).id, 'stranger'),
  }
  const before = await stateOf(world)
  for (const [caller, client] of Object.entries(clients)) {
    await client.get(`/console/t/${caller}`)
    for (const path of forms()) {
      const good = { name: 'other', code: 'a'.repeat(32), typed: 'web', key: 'B', value: '2', text: 'B=2' }
      const answer = await client.post(fill(path), { ...good, ...goodOf(path) })
      const expected = caller === 'viewer' ? [403] : [404]
      assert.ok(expected.includes(answer.status), `${caller}, ${path}: ${answer.status} ${answer.text.slice(0, 300)}`)
      // The navigation offers every user a team of their own.
      const told = answer.text.replace(/<a href="\/console\/teams\/new">[^\n]*?New team<\/a>/, '')
      if (caller === 'stranger') assert.doesNotMatch(told, new RegExp(`${slug}|www\\.example\\.com`))
    }
  }
  assert.equal(await stateOf(world), before)
})

onBothEngines('no form acts on another project that has the name of the one that its page showed', async (world) => {
  const { fill } = await open(world)
  const ofTeam = `teamId=${world.credentials.teamId}` as const
  const { id: shown } = (await world.call('GET', `/v9/projects/web?${ofTeam}`)).body
  const { id: other } = (await world.call('POST', `/v10/projects?${ofTeam}`, { name: 'other' })).body
  const client = await openSignedInClient(world)
  let counted = 0
  for (const { path } of SCREENS.filter(
    ({ method, path }) => method === 'GET' && path.startsWith(`${START}projects/`),
  )) {
    const { status, text } = await client.get(fill(path.slice(START.length)))
    if (status !== 200) continue
    for (const [, follows] of text.matchAll(/<form[^>]*action="[^"]*\/projects\/web[^"]*"[^>]*>(.{0,200})/gs)) {
      if (!follows!.includes('name="form"')) continue
      counted++
      assert.ok(follows!.startsWith(`<input type="hidden" name="shown" value="${shown}">`), `${path}: ${follows}`)
    }
  }
  assert.ok(counted > 15, String(counted))
  const before = await stateOf(world)
  let refused = 0
  for (const path of forms().filter((one) => one.includes(':name'))) {
    const good = { typed: 'web', key: 'B', value: '2', text: 'B=2' }
    const answer = await client.post(fill(path), { ...good, ...goodOf(path), shown: other })
    assert.ok([400, 404].includes(answer.status), `${path}: ${answer.status}`)
    if (answer.text.includes('another project has the name web now')) refused++
  }
  assert.ok(refused > 20, String(refused))
  assert.equal(await stateOf(world), before)
})

onBothEngines('pages lead a reader to no form that their role would be refused', async (world) => {
  const { slug } = await open(world)
  const viewer = await world.user('viewer')
  await world.join(viewer, 'VIEWER')
  const client = await openSignedInClient(world, viewer.id, 'viewer')
  const start = `/console/t/${slug}`
  const found = new Set([start])
  for (const url of found) {
    const { status, text } = await client.get(url)
    assert.equal(status, 200, `${url}: ${text}`)
    const forms = [...text.matchAll(/<form[^>]*method="post"[^>]*action="([^"]*)"/g)].map(([, action]) => action)
    assert.deepEqual(forms, ['/sign-out'], url)
    for (const [, href] of text.matchAll(/ href="([^"]*)"/g))
      if (href!.startsWith(`${start}/projects/`) && !/\/export(\?|$)/.test(href!))
        found.add(href!.replaceAll('&amp;', '&'))
    assert.doesNotMatch(
      text,
      new RegExp(`href="${start}/(new|receive|projects/[^"]*/(new|add|import|edit|transfer))"`),
      url,
    )
  }
  assert.ok(found.size >= 12, [...found].join('\n'))
})
