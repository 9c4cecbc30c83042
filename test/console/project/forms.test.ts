/**
 * Every form of a project's pages: whatever is typed, the answer is a page with what was typed, no fault, and no markup of the person's own;
 * nobody without the right does anything by it. docs/console.md.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CONSOLE } from '../../../src/console/screens.ts'
import { type Client, type Fields, signedIn } from '../../support/clients/browser-client.ts'
import { TYPED } from '../../support/clients/typed-texts.ts'
import { makeDeployment } from '../../support/projects.ts'
import { onBothEngines, type World } from '../../support/world.ts'

/** TABLE the forms by the end of their address: the fields that people type into, and others that they need. */
const FORMS: Record<string, { typed: readonly string[]; with?: Fields }> = {
  new: { typed: ['name'] },
  receive: { typed: ['code', 'newProjectName'] },
  'projects/:name/pause': { typed: [] },
  'projects/:name/unpause': { typed: [] },
  'projects/:name/variables/new': {
    typed: ['key', 'value', 'gitBranch', 'comment'],
    with: { target: ['preview'], type: 'encrypted' },
  },
  'projects/:name/variables/import': {
    typed: ['text', 'gitBranch'],
    with: { target: ['preview'], mode: 'merge', type: 'encrypted', step: 'apply' },
  },
  'projects/:name/variables/:id/edit': {
    typed: ['key', 'value', 'gitBranch', 'comment'],
    with: { target: ['preview'], type: 'encrypted' },
  },
  'projects/:name/variables/:id/delete': { typed: [] },
  'projects/:name/variables/:id/history/:version/restore': { typed: [] },
  'projects/:name/domains/add': { typed: ['name', 'gitBranch', 'redirect'] },
  'projects/:name/domains/:domain': { typed: ['gitBranch', 'redirect'] },
  'projects/:name/domains/:domain/verify': { typed: [] },
  'projects/:name/domains/:domain/remove': { typed: [] },
  'projects/:name/deployments/:id/promote': { typed: [] },
  'projects/:name/deployments/:id/rollback': { typed: [] },
  'projects/:name/settings': {
    typed: [
      'name',
      'buildCommand',
      'installCommand',
      'devCommand',
      'commandForIgnoringBuildStep',
      'outputDirectory',
      'rootDirectory',
    ],
    with: { nodeVersion: '20.x', framework: '' },
  },
  'projects/:name/settings/protection': { typed: [], with: { passwordFor: 'everything' } },
  'projects/:name/settings/data-cache': { typed: [] },
  'projects/:name/settings/delete': { typed: ['typed'] },
  'projects/:name/transfer': { typed: [] },
}

const START = '/console/t/:slug/'

function forms(): string[] {
  const ours = /^(new|receive|projects\/.*)$/
  return CONSOLE.filter(({ method, path }) => method === 'POST' && path.startsWith(START))
    .map(({ path }) => path.slice(START.length))
    .filter((path) => ours.test(path))
}

test('the table has every form of a project, once', () => {
  assert.deepEqual(forms().sort(), Object.keys(FORMS).sort())
})

/** A project with something for each form, in the first team. */
async function open(world: World) {
  const { teamId } = world.credentials
  const { slug } = (await world.call('GET', `/v2/teams/${teamId}`)).body as { slug: string }
  const project = (await world.call('POST', `/v10/projects?teamId=${teamId}`, { name: 'web' })).body
  const body = { key: 'A', value: '1', target: ['preview'] }
  const variable = (await world.call('POST', `/v10/projects/web/env?teamId=${teamId}`, body)).body.created
  await world.call('POST', `/v10/projects/web/domains?teamId=${teamId}`, { name: 'www.example.com' })
  const deployment = await makeDeployment(world, project.id, { url: 'one.host.test', target: 'preview' })
  const fill = (path: string) =>
    `${START}${path}`
      .replace(':slug', slug)
      .replace(':name', 'web')
      .replace(':version', '1')
      .replace(':domain', 'www.example.com')
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

async function typeInto(client: Client, url: string, form: (typeof FORMS)[string], text: string) {
  const typed = Object.fromEntries(form.typed.map((name) => [name, text]))
  return client.post(url, { ...form.with, ...typed })
}

onBothEngines('whatever is typed into a form comes back as text beside what is wrong with it', async (world) => {
  const { fill } = await open(world)
  const client = await signedIn(world)
  await client.get(fill('new'))
  for (const path of forms().filter((one) => FORMS[one]!.typed.length > 0)) {
    for (const text of TYPED) {
      const answer = await typeInto(client, fill(path), FORMS[path]!, text)
      const about = `${path} with ${JSON.stringify(text.slice(0, 30))}`
      assert.ok(
        [200, 303, 400, 403, 404, 409].includes(answer.status),
        `${about}: ${answer.status} ${answer.text.slice(0, 300)}`,
      )
      assert.doesNotMatch(answer.text, /<script>alert/, about)
      if (answer.status === 303) continue
      assert.match(answer.text, /role="alert"/, about)
      if (text.startsWith('😀')) assert.match(answer.text, /😀 emoji/, `${about}: what was typed is kept`)
    }
  }
})

onBothEngines('ids that are not there, and those of others, are not found', async (world) => {
  const { fill } = await open(world)
  const client = await signedIn(world)
  await client.get(fill('new'))
  for (const path of forms().filter((one) => /:id|:domain/.test(one))) {
    const url = `${START}${path}`
      .replace(':slug', fill('').split('/')[3]!)
      .replace(':name', 'web')
      .replace(':version', '1')
      .replace(/:id|:domain/, encodeURIComponent('😀nobody.example.com'))
    const answer = await client.post(url, { ...FORMS[path]!.with })
    assert.ok([400, 404].includes(answer.status), `${path}: ${answer.status} ${answer.text.slice(0, 300)}`)
  }
  for (const path of forms().filter((one) => one.includes(':name'))) {
    const answer = await client.post(fill(path).replace('/projects/web', '/projects/nobody'), {
      ...FORMS[path]!.with,
      typed: 'nobody',
    })
    assert.ok([400, 404].includes(answer.status), `${path}: ${answer.status}`)
  }
})

onBothEngines('whoever may not write changes nothing by any form, and strangers find none', async (world) => {
  const { fill, slug } = await open(world)
  const viewer = await world.user('viewer')
  await world.join(viewer, 'VIEWER')
  const clients = {
    viewer: await signedIn(world, viewer.id, 'viewer'),
    stranger: await signedIn(world, (await world.user('stranger')).id, 'stranger'),
  }
  const before = await stateOf(world)
  for (const [who, client] of Object.entries(clients)) {
    await client.get(`/console/t/${who}`)
    for (const path of forms()) {
      const good = { name: 'other', code: 'a'.repeat(32), typed: 'web', key: 'B', value: '2', text: 'B=2' }
      const answer = await client.post(fill(path), { ...good, ...FORMS[path]!.with })
      const expected = who === 'viewer' ? [403] : [404]
      assert.ok(expected.includes(answer.status), `${who}, ${path}: ${answer.status} ${answer.text.slice(0, 300)}`)
      if (who === 'stranger') assert.doesNotMatch(answer.text, new RegExp(`${slug}|www\\.example\\.com`))
    }
  }
  assert.equal(await stateOf(world), before)
})

onBothEngines('pages lead a reader to no form that their role would be refused', async (world) => {
  const { slug } = await open(world)
  const viewer = await world.user('viewer')
  await world.join(viewer, 'VIEWER')
  const client = await signedIn(world, viewer.id, 'viewer')
  const start = `/console/t/${slug}`
  const found = new Set([start])
  for (const url of found) {
    const { status, text } = await client.get(url)
    assert.equal(status, 200, `${url}: ${text}`)
    const forms = [...text.matchAll(/<form[^>]*method="post"[^>]*action="([^"]*)"/g)].map(([, action]) => action)
    assert.deepEqual(forms, ['/sign-out'], url)
    for (const [, href] of text.matchAll(/ href="([^"]*)"/g))
      if (href!.startsWith(`${start}/projects/`)) found.add(href!.replaceAll('&amp;', '&'))
    assert.doesNotMatch(
      text,
      new RegExp(`href="${start}/(new|receive|projects/[^"]*/(new|add|import|edit|transfer))"`),
      url,
    )
  }
  assert.ok(found.size >= 12, [...found].join('\n'))
})
