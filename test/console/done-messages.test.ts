/** The page after a form says what it changed. docs/console.md: Forms. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { AUDIT_MESSAGES } from '../../src/console/names/audit-messages.ts'
import { DONE_MESSAGES, doneMessage } from '../../src/console/names/done-messages.ts'
import { doneCookie, showDone } from '../../src/platform/pages/done.ts'
import { html } from '../../src/platform/pages/html.ts'
import { SCREENS } from '../../src/screens.ts'

/** TABLE forms that are answered by a page: with a secret or a result that is shown once, or a form again. */
const ANSWERED: readonly string[] = [
  'consoleCreateAppSecret',
  'consoleCreateDrain',
  'consoleCreateWebhook',
  'consoleInviteMember',
  'consoleInvitePerson',
  'consoleMakePasswordLink',
  'consoleMakeToken',
  'consoleRegisterApp',
  'consoleRequestTransfer',
  'consoleTestDrain',
  'consoleTestWebhook',
  'showBroughtBack',
]

test('every form of the console has a sentence, or is answered by a page', () => {
  const forms = SCREENS.filter(({ method, calls }) => method === 'POST' && calls !== undefined).map(({ name }) => name)
  const named = [...Object.keys(DONE_MESSAGES), ...ANSWERED]
  assert.deepEqual([...new Set(forms)].toSorted(), named.toSorted())
})

/** How the activity says that something ended. A user who leaves a team is removed from it by the same route. */
const ENDS = /\b(?:removed|deleted|revoked|withdrew|uninstalled|unlinked|unassigned|retired|left)\b/g

test('what a form ended is said in the words of the activity and of the buttons', () => {
  const ends = SCREENS.flatMap(({ name, calls: [route = ''] = [] }) => {
    const words = DONE_MESSAGES[name] == null ? undefined : AUDIT_MESSAGES[route]?.match(ENDS)
    return words ? [{ name, words: words.map((word) => word.replace('withdrew', 'withdrawn')) }] : []
  })
  assert.ok(ends.length > 20, `${ends.length} forms`)
  for (const { name, words } of ends) {
    const said = JSON.stringify(doneMessage(name, { params: { name: 'b' }, form: {}, answer: {} }))
    assert.ok(
      words.some((word) => said.includes(word)),
      `${name}: ${said} and not ${words}`,
    )
  }
})

test('a sentence names what was changed', () => {
  const of = (name: string, form: object, answer: unknown = {}) => {
    const done = doneMessage(name, { params: { slug: 'a', name: 'b' }, form, answer })
    return typeof done === 'object' ? `${done.sentence} ${done.next.path}` : done
  }
  assert.match(
    of('consoleCreateVariable', { key: ' STRIPE_KEY ' })!,
    /^STRIPE_KEY is added\. .* \/console\/t\/a\/projects\/b\/deployments$/,
  )
  const plan = { created: ['A', 'B'], updated: [], removed: ['C'] }
  assert.match(of('consoleImportVariables', { target: ['preview', 'production'] }, { plan })!, /^2 added, 1 deleted\. /)
  assert.match(
    of('consoleAddDomain', {}, { name: 'a.test', verified: false })!,
    /^a\.test is added\. It serves nothing/,
  )
  assert.equal(of('consoleReplayRange', {}, { replayed: 2, next: null }), '2 sent again.')
  // The route looked at 20,000 deliveries only.
  assert.match(of('consoleReplayRange', {}, { replayed: 0, next: 5 })!, /^0 sent again\. There may be later ones/)
  assert.equal(of('console-promote', {}), undefined)
})

const [session, url] = ['s'.repeat(43), '/console/t/a/projects/b']
const guest = { user: undefined, csrfToken: '', newVisit: undefined, address: '', agent: undefined, session }
const shown = (done: string | undefined, at = url, of = session) => {
  const page = { title: '', body: html`<h1>b</h1>` }
  showDone(page, { ...guest, session: of, done }, at)
  return page.body.markup
}

test('the sentence is on the page that follows, for this session, and is text', () => {
  const done = doneCookie({ redirectTo: `${url}?a=b`, done: '<b>é is added.' }, guest)!
  assert.match(shown(done), /role="status".*&lt;b&gt;é is added\..*<h1>b<\/h1>/s)
  assert.match(shown(done, `${url}?c=d`), /is added/)
  const [passing, sent] = [{ redirectTo: '/console/t/a' }, { redirectTo: '/console/t/a' }]
  showDone(passing, { ...guest, done }, url, true)
  showDone(sent, { ...guest, done }, url)
  assert.match(shown(doneCookie(passing, guest), '/console/t/a'), /is added/, 'a page that redirects hands it on')
  assert.equal(doneCookie(sent, guest), undefined, 'a form does not')
  const next = { words: 'On <it>', path: '/console/t/a?b="c' }
  const link = doneCookie({ redirectTo: url, done: { sentence: 'It is added.', next } }, guest)
  assert.match(shown(link), /It is added\..*<a class="btn small" href="\/console\/t\/a\?b=&quot;c">On &lt;it&gt;<\/a>/)
  for (const other of [
    shown(done, '/console/t/a'),
    shown(done, url, 't'.repeat(43)),
    shown(`${Buffer.from('Another.').toString('base64url')}.${done.split('.')[1]}`),
    shown(undefined),
    shown('.'),
  ])
    assert.equal(other, '<h1>b</h1>')
})

test('a cookie of an earlier version, which has the sentence alone, is ignored', () => {
  const text = Buffer.from('It is added.').toString('base64url')
  const mac = createHmac('sha256', session).update(`done ${url} ${text}`).digest('base64url')
  assert.equal(shown(`${text}.${mac}`), '<h1>b</h1>')
})
