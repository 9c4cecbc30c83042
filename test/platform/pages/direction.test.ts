/** Names that turn the direction of writing: on no page do they turn the text next to them. docs/console.md: Page layout. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bidiIsolated, html } from '../../../src/platform/pages/html.ts'
import { SCREENS } from '../../../src/screens.ts'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { valuesOf } from '../../support/clients/screen-values.ts'
import { seedDeployment } from '../../support/projects.ts'
import { type Samples, seedSamples } from '../../support/sample-requests.ts'
import { nameAccounts, tamper } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'

/** Turns whatever follows it, until it is ended or isolated. */
const TURN = '\u202e'
const NAME = `Ab${TURN}cd`
/** An app may have no other: its name takes visible characters alone. So do names of users and teams, except those of an earlier version. */
const HEBREW = 'שלום'
/** Elements that are each laid out on their own. What turns the direction is left out of a title. */
const ISOLATING = new Set(['bdi', 'textarea', 'option', 'title'])
const TOKEN = /<(\/?)([a-z][\w-]*)((?:"[^"]*"|[^">])*)>|([^<]+)/g
const EMPTY = new Set(['meta', 'link', 'input', 'br', 'wbr', 'img', 'hr', '!doctype'])

/** The texts of a page that turn the direction, each with the elements around it. */
function turningIn(page: string): { text: string; within: string[] }[] {
  const within: string[] = []
  const found: { text: string; within: string[] }[] = []
  for (const [, end, element, , text] of page.replace(/^<!doctype html>/i, '').matchAll(TOKEN)) {
    if (text !== undefined && (text.includes(TURN) || text.includes(HEBREW))) found.push({ text, within: [...within] })
    else if (element === undefined || EMPTY.has(element)) continue
    else if (end === '/') within.splice(within.lastIndexOf(element))
    else within.push(element)
  }
  return found
}

test('a text that turns the direction is isolated, and not where no markup can be', () => {
  assert.equal(html`<p>${NAME} is here</p>`.markup, `<p><bdi>${NAME}</bdi> is here</p>`)
  assert.equal(html`<p>${HEBREW} (1)</p>`.markup, `<p><bdi>${HEBREW}</bdi> (1)</p>`)
  assert.equal(html`<p>${'\u{10900}'}</p>`.markup, '<p><bdi>\u{10900}</bdi></p>')
  assert.equal(html`${`<${NAME}`}`.markup, `<bdi>&lt;${NAME}</bdi>`)
  assert.equal(
    html`<p title="of ${NAME}: ${NAME}">${'plain é 😀'}</p>`.markup,
    `<p title="of ${NAME}: ${NAME}">plain é 😀</p>`,
  )
  assert.equal(html` value="${NAME}"`.markup, ` value="${NAME}"`)
  assert.equal(
    html`<textarea id="a">\n${NAME}</textarea>${NAME}`.markup,
    `<textarea id="a">\n${NAME}</textarea><bdi>${NAME}</bdi>`,
  )
  assert.equal(html`<option value="${'a'}"${false}>${NAME}</option>`.markup, `<option value="a">${NAME}</option>`)
})

test('a name in a plain string is isolated by characters, and ends nothing before its end', () => {
  assert.equal(bidiIsolated('Acme 😀'), 'Acme 😀')
  assert.equal(bidiIsolated(`${HEBREW}\u2069${TURN}`), `\u2068${HEBREW}\u2069`)
})

async function twist(world: World, { projectId, userId, apps, drainId, envId }: Samples): Promise<void> {
  const done = async (asked: Promise<{ status: number; text: string }>) => {
    const { status, text } = await asked
    assert.ok(status < 300, text)
  }
  await nameAccounts(world, NAME)
  await done(world.call('PATCH', '/v2/teams/team', { description: NAME }))
  for (const { id } of Object.values(apps))
    await done(world.operator('PATCH', `/operator/v1/integrations/${id}`, { name: HEBREW }))
  await done(world.operator('POST', '/operator/v1/tokens', { userId, name: 'old' }))
  await tamper(world, 'token', { name: NAME }, { name: 'old' })
  await done(world.call('PATCH', `/v1/drains/${drainId}`, { name: NAME }))
  await done(world.call('PATCH', `/v9/projects/web/env/${envId}`, { comment: NAME, gitBranch: NAME }))
  await done(world.call('PATCH', '/v9/projects/web/custom-environments/staging', { description: NAME }))
  await done(world.call('PATCH', '/v9/projects/web', { buildCommand: NAME }))
  await seedDeployment(world, projectId, {
    url: 'turned.apps.example.net',
    meta: { githubCommitMessage: NAME, githubCommitRef: NAME },
  })
}

onBothEngines('a name that turns the direction turns nothing next to it, on any page', async (world) => {
  const samples = await seedSamples(world)
  await twist(world, samples)
  const person = await openSignedInClient(world)
  let turning = 0
  const pages = new Set<string>()
  for (const { method, path, streams } of SCREENS) {
    if (method !== 'GET' || streams) continue
    const known = valuesOf(path, samples)
    const urls = [known, { ...known, slug: 'team' }].map((values) =>
      path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(values[name as 'slug'] ?? 'x')),
    )
    for (const url of new Set(urls)) {
      const { text } = await person.get(
        `${url}${path.endsWith('/search') ? `?q=${encodeURIComponent(TURN)}&in=team` : ''}`,
      )
      assert.doesNotMatch(/<title>[^<]*/.exec(text)?.[0] ?? '', /[\u202a-\u202e\u2066-\u2069]/, `${url}: the title`)
      for (const { text: said, within } of turningIn(text)) {
        assert.ok(
          within.some((one) => ISOLATING.has(one)),
          `${url}: ${within.join(' ')}: ${said}`,
        )
        assert.doesNotMatch(said, /\u202e.*\((team|rivals)\)/, `${url}: the slug behind a name in one string`)
        turning += 1
        pages.add(path)
      }
    }
  }
  assert.ok(turning > 100 && pages.size > 40, `${turning} texts on ${pages.size} pages`)
})
