/** What the `meta` of a deployment says of its commit, as clients write it for each git host. */

export const GIT_HOSTS = ['github', 'gitlab', 'bitbucket'] as const
/** Longest title: the first line of a commit message, in characters. */
const MAX_TITLE = 100

export type Meta = Readonly<Record<string, string>>
/** The end of a field's name, after that of the host. */
export type CommitField = 'CommitSha' | 'CommitRef' | 'CommitMessage' | 'CommitAuthorName' | 'CommitAuthorLogin'

/** Returns a fact of the commit; undefined where no host's field has it. */
export function commitField(meta: Meta, end: CommitField): string | undefined {
  return commitFieldNames(end)
    .map((name) => meta[name])
    .find(Boolean)
}

/** Returns the names of a field, of each git host. */
export function commitFieldNames(end: CommitField): string[] {
  return GIT_HOSTS.map((host) => `${host}${end}`)
}

/** Returns the first line of the commit message; undefined without a message. */
export function commitTitle(meta: Meta): string | undefined {
  return commitField(meta, 'CommitMessage')?.trim().split('\n', 1)[0]?.slice(0, MAX_TITLE) || undefined
}
