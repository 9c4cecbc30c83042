/** The page that lists the files of a folder without an index. docs/deploying-sites.md: Lists of folders. */

import { escapeText, html } from '../../platform/pages/html.ts'
import { documentOf } from '../../platform/verdict/error-page.ts'
import type { FolderList } from '../router/decision.ts'

/**
 * The page as HTML. Its links begin with a slash, so they lead to the same files with and without a slash behind the address, and no site is
 * redirected, which may have rules of its own for that slash.
 */
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

/** `/a/` of `/a/b/`. */
function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/', path.length - 2) + 1)
}

function addressOf(path: string): string {
  return path.toWellFormed().split('/').map(encodeURIComponent).join('/')
}
