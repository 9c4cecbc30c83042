/** Pages of docs/ within the console, for what its messages refer to. docs/console.md: Help. */
import type { Static } from 'typebox'
import { shippedFile } from '../../platform/base/shipped-files.ts'
import { html } from '../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../platform/pages/screen.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { heading } from '../controls.ts'
import { consolePage } from '../frame.ts'
import { OPERATOR } from '../operator/frame.ts'
import { chaptersOf, renderMarkdown } from './markdown.ts'
import { HELP_PAGES, type HelpPage, helpPath, isHelpPage } from './paths.ts'

/** `section`: the anchor of a heading. */
const Query = Type.Object({ section: Type.Optional(Type.String({ maxLength: 100 })) })

export const helpScreens: readonly Screen[] = HELP_PAGES.map((page) =>
  consoleScreen({
    method: 'GET',
    path: helpPath(page),
    name: `console-help-${page}`,
    query: Query,
    calls: [],
    run: (ctx, input) => showHelp(ctx, page, input),
  }),
)

/** Shows the introduction and the list of the chapters, or one chapter. */
function showHelp(ctx: ConsoleCtx, page: HelpPage, { query: { section } }: ScreenInput<Static<typeof Query>>) {
  const { intro, chapters } = chaptersOf(shippedFile(`docs/${page}.md`))
  const { title } = intro
  const shown = section === undefined ? intro : [intro, ...chapters].find(({ anchors }) => anchors.includes(section))
  if (shown === undefined) refuse('not_found', `${title} has no such chapter.`)
  const ways = chapters.map(
    (one) =>
      html`<li class="row hit"><a class="to" href="${helpPath(page, one.anchors[0])}"${one === shown && html` aria-current="page"`}>${one.title}</a></li>`,
  )
  return consolePage(ctx, ctx.user.isOperator ? { tabs: OPERATOR, tab: '' } : undefined, {
    title: shown.title,
    ...(shown !== intro && { within: [[title, helpPath(page)]] as const }),
    body: html`${heading(shown.title)}
${renderMarkdown(shown.title, shown.text, (href) => pathOf(page, href))}
<nav aria-labelledby="chapters"><h2 id="chapters">Chapters of ${title}</h2><ul class="card rows">${ways}</ul></nav>`,
  })
}

/** Returns the target of a link: a page of the help, or an address elsewhere. Undefined for pages that the console does not have. */
function pathOf(page: HelpPage, href: string): string | undefined {
  if (href.startsWith('https://')) return href
  const [file = '', section] = href.split('#')
  const other = file === '' ? page : file.replace(/\.md$/, '')
  return isHelpPage(other) ? helpPath(other, section) : undefined
}
