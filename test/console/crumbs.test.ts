/** What every page of the console has: its text, the way back from below a tab to its page, and each id once. docs/console.md: Implementation. */
import assert from 'node:assert/strict'
import { CONSOLE } from '../../src/console/screens.ts'
import { openSignedInClient } from '../support/clients/browser-client.ts'
import { openConsolePages } from '../support/clients/console-pages.ts'
import { valuesOf } from '../support/clients/screen-values.ts'
import { seedSamples } from '../support/sample-requests.ts'
import { onBothEngines } from '../support/world.ts'
import { mustReadAsKept } from './page-texts.ts'

/** Pages below a tab, with the address of the tab in the first group. A file, and a page that serves others, have no tab. */
const BELOW =
  /^(\/console\/(?:t\/:slug(?:\/projects\/:name)?|account|operator)\/(?!projects\/|new$|receive$|security\/)[\w-]+)\/(?!(?:.*\/)?export$).+/

onBothEngines('every page reads as it should, with each id once and buttons in its head', async (world) => {
  const pages = await openConsolePages(world)
  const client = await openSignedInClient(world)
  let ids = 0
  const texts: { path: string; text: string }[] = []
  for (const { path, address } of pages) {
    const { text } = await client.get(address)
    texts.push({ path, text })
    // The first picture waits for the end of the page: the columns of a table moved with each row that was read after it.
    // One of them leads on, with no page.
    if (text !== '')
      assert.match(
        text,
        /<link rel="expect" href="#end" blocking="render">[\s\S]*<span id="end" hidden><\/span>\n<\/body>/,
        path,
      )
    // A label of the second one would name another control than its own.
    const found = [...text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id)
    ids += found.length
    assert.deepEqual(
      found.filter((id, at) => found.indexOf(id) !== at),
      [],
      path,
    )
    // Bare links are too low for a thumb, and next to buttons they look like text.
    const bare = headsOf(text).flatMap((head) => head.match(/<a (?![^>]*\bclass=)[^>]*>/g) ?? [])
    assert.deepEqual(bare, [], path)
    // The arrow of a browser has another place and another color in each.
    assert.doesNotMatch(text, /(?<!<span class="pick">)<select/, path)
  }
  assert.ok(ids > 3 * pages.length, `${ids} ids on ${pages.length} pages`)
  mustReadAsKept(texts)
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

/** Returns the heads of a page, each to the end of its element, without the menus in it. */
function headsOf(text: string): string[] {
  return text
    .split('<div class="head">')
    .slice(1)
    .map((part) => {
      const after = part.replaceAll(/<div class="pop">[\s\S]*?<\/div>/g, '')
      let depth = 1
      for (const { index, 1: close } of after.matchAll(/<(\/?)div\b/g)) {
        depth += close ? -1 : 1
        if (depth === 0) return after.slice(0, index)
      }
      return after
    })
}
