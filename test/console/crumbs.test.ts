/** What every page of the console has: the way back from below a tab to its page, and each id once. docs/console.md: Implementation. */
import assert from 'node:assert/strict'
import { CONSOLE } from '../../src/console/screens.ts'
import { openSignedInClient } from '../support/clients/browser-client.ts'
import { openConsolePages } from '../support/clients/console-pages.ts'
import { valuesOf } from '../support/clients/screen-values.ts'
import { seedSamples } from '../support/sample-requests.ts'
import { onBothEngines } from '../support/world.ts'

/** Pages below a tab, with the address of the tab in the first group. A file, and a page that serves others, have no tab. */
const BELOW =
  /^(\/console\/(?:t\/:slug(?:\/projects\/:name)?|account|operator)\/(?!projects\/|new$|receive$|security\/)[\w-]+)\/(?!(?:.*\/)?export$).+/

onBothEngines('no page has an id twice: a label would name another control than its own', async (world) => {
  const pages = await openConsolePages(world)
  const client = await openSignedInClient(world)
  let ids = 0
  for (const { path, address } of pages) {
    const { text } = await client.get(address)
    // The first picture waits for the end of the page: the columns of a table moved with each row that was read after it.
    // One of them leads on, with no page.
    if (text !== '')
      assert.match(
        text,
        /<link rel="expect" href="#end" blocking="render">[\s\S]*<span id="end" hidden><\/span>\n<\/body>/,
        path,
      )
    const found = [...text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id)
    ids += found.length
    assert.deepEqual(
      found.filter((id, at) => found.indexOf(id) !== at),
      [],
      path,
    )
  }
  assert.ok(ids > 3 * pages.length, `${ids} ids on ${pages.length} pages`)
})

onBothEngines('every page below a tab leads back to the page of the tab', async (world) => {
  const samples = await seedSamples(world)
  const client = await openSignedInClient(world)
  const below = CONSOLE.filter(({ method, path }) => method === 'GET' && BELOW.test(path))
  assert.ok(below.length > 20, `${below.length} pages`)
  for (const { path } of below) {
    const known = valuesOf(path, samples)
    const filled = (one: string) => one.replaceAll(/:(\w+)/g, (_, name: string) => known[name] ?? assert.fail(path))
    const page = await client.get(filled(path))
    assert.equal(page.status, 200, `${path}: ${page.location}`)
    const [crumbs] = /<nav class="crumbs"[\s\S]*?<\/nav>/.exec(page.text) ?? assert.fail(`${path} has no way back`)
    assert.ok(crumbs.includes(`href="${filled(BELOW.exec(path)![1]!)}"`), `${path}: ${crumbs}`)
  }
})
