/** Pages of docs/ within the console. docs/console.md: Help. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { withInlineCode } from '../../src/console/advice-commands.ts'
import { chaptersOf, renderMarkdown } from '../../src/console/help/markdown.ts'
import { HELP_PAGES, helpPath, isHelpPage } from '../../src/console/help/paths.ts'
import { openClient, openSignedInClient } from '../support/clients/browser-client.ts'
import { root } from '../support/root.ts'
import { onBothEngines } from '../support/world.ts'

const MESSAGES = ['src/operations/{doctor,report}/**/*.ts', 'src/console/operator/system/setup.ts']

test('every page of docs/ that a message of the operator names is one of the console', () => {
  const named = MESSAGES.flatMap((files) => globSync(files, { cwd: root })).flatMap((file) => {
    const code = readFileSync(join(root, file), 'utf8').replaceAll(/\/\*\*?[\s\S]*?\*\/|\/\/ .*/g, '')
    return [...code.matchAll(/\bdocs\/([a-z-]+)\.md/g)].map(([, name]) => name!)
  })
  const pages = named.filter((name) => name !== 'edge')
  assert.ok(pages.length > 15, `${pages.length} messages`)
  assert.deepEqual(
    pages.filter((name) => !isHelpPage(name)),
    [],
  )
  const link = '<a href="/console/help/backup" data-turbo-frame="_top">docs/backup.md</a>'
  assert.ok(withInlineCode('see docs/backup.md.').markup.startsWith(`see ${link}.`))
  assert.doesNotMatch(withInlineCode('see docs/style.md').markup, /<a /)
})

const TEXT = `# The \`page\`

Intro with **bold**, *more*, \`a|b\` and <b>.
Second line.

## One & two

- first [other](backup.md#restore) and [gone](gone.md)
- second
  goes on
1. Run:

   \`\`\`sh
   berth

     doctor
   \`\`\`

### Within

| A | B |
| --- | --- |
| \`x\\|y\` | z |

## Last
`

test('a page is split at its chapters, and its marks become elements', () => {
  const { intro, chapters } = chaptersOf(TEXT)
  assert.equal(intro.title, 'The page')
  assert.deepEqual(
    chapters.map(({ title, anchors }) => [title, ...anchors]),
    [
      ['One & two', 'one--two', 'within'],
      ['Last', 'last'],
    ],
  )
  const to = (href: string) => (href.startsWith('backup') ? '/there' : undefined)
  assert.match(
    renderMarkdown(intro.title, intro.text, to).markup,
    /<p>Intro with <b>bold<\/b>, <i>more<\/i>, <code>a\|b<\/code> and &lt;b&gt;\.\nSecond line\.<\/p>/,
  )
  const { markup } = renderMarkdown('One', chapters[0]!.text, to)
  assert.match(markup, /<li>first <a href="\/there"[^>]*>other<\/a> and gone<\/li><li>second\ngoes on<\/li>/)
  assert.match(markup, /<li><p>Run:<\/p><div class="code"><pre>berth\n\n {2}doctor<\/pre>/)
  assert.match(markup, /<h2>Within<\/h2>[\s\S]*aria-label="One"[\s\S]*<td data-label="A"><code>x\|y<\/code><\/td>/)
})

onBothEngines('the chapters and links of every page open, for users alone', async (world) => {
  const client = await openSignedInClient(world)
  const seen = new Set<string>()
  const next = HELP_PAGES.map((page) => helpPath(page))
  for (const path of next) {
    if (seen.has(path)) continue
    seen.add(path)
    const { status, text } = await client.get(path)
    assert.equal(status, 200, path)
    for (const [, to] of text.matchAll(/href="(\/console\/help\/[^"]+)"/g)) next.push(to!.replaceAll('&amp;', '&'))
  }
  assert.ok(seen.size > 5 * HELP_PAGES.length, `${seen.size} pages`)
  assert.equal((await client.get(`${helpPath('backup')}?section=none`)).status, 404)
  assert.equal((await openClient(world).get(helpPath('backup'))).status, 303)
  assert.match((await client.get('/console/operator')).text, /<a href="\/console\/help\/backup"/)
})
