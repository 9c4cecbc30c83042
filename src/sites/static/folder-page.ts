/** The page that lists a folder without an index. docs/deploying-sites.md: Directory listings. */

import { escapeText, html } from '../../platform/pages/html.ts'
import { documentOf } from '../../platform/verdict/error-page.ts'
import type { FolderList } from '../router/decision.ts'

/** Renders the page. Its absolute links work with and without a trailing slash, so no redirect can conflict with rules of the site. */
export function folderPage({ path, names, isWhole }: FolderList): string {
  const title = `Files in ${path}`
  const entries = [...(path === '/' ? [] : ['../']), ...names]
  const list = html`<h1>${title}</h1>
<ul>
${entries.map(
  (name) => html`<li><a href="${addressOf(name === '../' ? parentOf(path) : path + name)}">${name}</a></li>
`,
)}</ul>
${isWhole ? '' : html`<p>There are more files than this page lists.</p>\n`}`
  return documentOf(escapeText(title), list.markup)
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/', path.length - 2) + 1)
}

function addressOf(path: string): string {
  return path.toWellFormed().split('/').map(encodeURIComponent).join('/')
}
