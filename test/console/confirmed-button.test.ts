/** Actions that cannot be undone, or lock a user out, require a confirmation on every page. docs/console.md: Page layout. */
import assert from 'node:assert/strict'
import { CONSOLE } from '../../src/console/screens.ts'
import { ROUTES } from '../../src/routes.ts'
import { type Client, openSignedInClient } from '../support/clients/browser-client.ts'
import { type ConsolePage, openConsolePages } from '../support/clients/console-pages.ts'
import { setUpCodes } from '../support/clients/second-factor.ts'
import { onBothEngines } from '../support/world.ts'

/** They revoke a token, a secret or sessions, which may be stolen, or withdraw an invitation, which can be sent again. */
const HASTY = new Set([
  'deleteAuthToken',
  'operatorDeleteToken',
  'operatorEndSessions',
  'deleteIntegrationSecret',
  'deleteTeamInviteCode',
])
/** Routes that delete nothing, but cannot be undone or lock a user out. */
const OTHERS = new Set(['operatorRotateKeys', 'operatorRetireKey', 'operatorRemoveSecondFactors'])
const DELETES = new Set(ROUTES.filter(({ method }) => method === 'DELETE').map(({ operationId }) => operationId))
const FORM = /<form[^>]* method="post"[^>]* action="([^"?]*)[^"]*"[\s\S]*?<\/form>/g

/** TABLE the forms that must ask twice, with what finds them by their address. */
const FINAL = CONSOLE.filter(({ method, calls = [] }) => {
  const [operation = ''] = calls
  return method === 'POST' && !HASTY.has(operation) && (DELETES.has(operation) || OTHERS.has(operation))
}).map(({ path }) => ({ path, address: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`) }))

/** Whether a form at this place of a page is reached by a second press, or by typing a name. */
function asksTwice(page: string, at: number, form: string): boolean {
  // A page that only asks is one of its own.
  if (form.startsWith('<form class="card sheet ')) return true
  return isWithin(page.slice(0, at), '<details class="twice"', '</details>') || form.includes('name="typed"')
}

/** Whether what begins so has not ended yet. */
function isWithin(before: string, begin: string, end: string): boolean {
  const at = before.lastIndexOf(begin)
  return at >= 0 && !before.slice(at).includes(end)
}

/** The page of an app without installations: an app with installations cannot be deleted. */
async function openSpareApp(client: Client): Promise<ConsolePage> {
  const path = '/console/t/:slug/apps/:id'
  const list = '/console/t/team/apps'
  const spare = { slug: 'spare', name: 'Spare', redirectUrl: 'https://app.example.com/back', 'level-project': 'read' }
  await client.post(`${list}/new`, spare)
  const [, id = assert.fail('the app is not in the list')] =
    /\/apps\/(oac_\w+)"[^>]*>Spare/.exec((await client.get(list)).text) ?? []
  return { path, address: `${list}/${id}` }
}

onBothEngines('what deletes, locks out or replaces a key requires a confirmation, on every page', async (world) => {
  const pages = await openConsolePages(world)
  const mate = pages
    .find(({ path }) => path.endsWith('/people/:id'))!
    .address.split('/')
    .at(-1)!
  await setUpCodes(world, await openSignedInClient(world, mate, 'mate'))
  const client = await openSignedInClient(world)
  await client.get('/console/account')
  pages.push(await openSpareApp(client))
  const seen = new Set<string>()
  let red = 0
  for (const { path, address } of pages) {
    const { text } = await client.get(address)
    // A live page matches its rows by ids. Without them, an open question moves to another row.
    const questions = [...text.matchAll(/<details class="twice"(?: id="([^"]+)")?/g)].map(([, id]) => id)
    assert.ok(questions.every(Boolean) && new Set(questions).size === questions.length, `${path}: ${questions}`)
    for (const found of text.matchAll(FORM)) {
      const [form, action = ''] = found
      const final = FINAL.find((one) => one.address.test(action))
      const isRed = isWithin(text.slice(0, found.index), 'danger-zone', '</section>')
      if (final === undefined && !isRed) continue
      assert.ok(asksTwice(text, found.index, form), `${path}: ${action} acts at one press`)
      if (final) seen.add(final.path)
      red += Number(isRed)
    }
  }
  assert.deepEqual(
    FINAL.map(({ path }) => path)
      .filter((path) => !seen.has(path))
      .sort(),
    [],
  )
  assert.ok(red > 8, `${red} forms in red cards`)
})
