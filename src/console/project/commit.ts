/** What a deployment is made of, as its meta says: the commit, its author and its branch. docs/console.md: Project pages. */
import { commitField, commitTitle } from '../../model/commit.ts'
import { icon } from '../../platform/pages/face/icons.ts'
import { avatar } from '../../platform/pages/face/initials.ts'
import { type Html, html } from '../../platform/pages/html.ts'

/** Characters of a SHA on a page. */
export const SHORT_SHA = 7

type Made = { meta: Record<string, string>; url: string }

/** Returns the first line of the commit message; of a deployment without a commit, its URL. */
export function titleOf({ meta, url }: Made): string {
  return commitTitle(meta) ?? url
}

/** Renders branch and short SHA. Undefined where the meta names neither. */
export function commitRefs({ meta }: Pick<Made, 'meta'>, branch?: string | null): Html | undefined {
  const ref = commitField(meta, 'CommitRef') ?? branch ?? undefined
  const sha = commitField(meta, 'CommitSha')
  if (ref === undefined && sha === undefined) return undefined
  return html`${ref !== undefined && html`<span class="ref">${icon('git-branch')}<span>${ref}</span></span>`}${sha !== undefined && html`<span class="ref" title="${sha}">${sha.slice(0, SHORT_SHA)}</span>`}`
}

/** Renders the author of the commit. Undefined where the meta names none. */
export function commitAuthor({ meta }: Pick<Made, 'meta'>): Html | undefined {
  const author = commitField(meta, 'CommitAuthorName') ?? commitField(meta, 'CommitAuthorLogin')
  return author === undefined ? undefined : html`${avatar(author)}<span>${author}</span>`
}
