/** What a deployment is made of, as its meta says: the commit, its author and its branch. docs/console.md: Project pages. */
import { icon } from '../../platform/pages/face/icons.ts'
import { avatar } from '../../platform/pages/face/initials.ts'
import { type Html, html } from '../../platform/pages/html.ts'

type Made = { meta: Record<string, string>; url: string }

/** Longest title: the first line of a commit message, in characters. */
const MAX_TITLE = 100
const HOSTS = ['github', 'gitlab', 'bitbucket'] as const

/** Returns the first line of the commit message; of a deployment without a commit, its URL. */
export function titleOf({ meta, url }: Made): string {
  return fieldOf(meta, 'CommitMessage')?.trim().split('\n', 1)[0]?.slice(0, MAX_TITLE) || url
}

/** Renders branch and short SHA. Undefined where the meta names neither. */
export function commitRefs({ meta }: Pick<Made, 'meta'>, branch?: string | null): Html | undefined {
  const ref = fieldOf(meta, 'CommitRef') ?? branch ?? undefined
  const sha = fieldOf(meta, 'CommitSha')
  if (ref === undefined && sha === undefined) return undefined
  return html`${ref !== undefined && html`<span class="ref">${icon('git-branch')}<span>${ref}</span></span>`}${sha !== undefined && html`<span class="ref" title="${sha}">${sha.slice(0, 7)}</span>`}`
}

/** Renders the author of the commit. Undefined where the meta names none. */
export function commitAuthor({ meta }: Pick<Made, 'meta'>): Html | undefined {
  const author = fieldOf(meta, 'CommitAuthorName') ?? fieldOf(meta, 'CommitAuthorLogin')
  return author === undefined ? undefined : html`${avatar(author)}<span>${author}</span>`
}

function fieldOf(meta: Record<string, string>, end: string): string | undefined {
  return HOSTS.map((host) => meta[`${host}${end}`]).find(Boolean)
}
