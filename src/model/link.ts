/** A link to a repository: its wire format, and its column in a project. docs/spec/wire.md 2.2. */
import type { Static } from 'typebox'
import type { Row } from '../platform/db/schema.ts'
import { Type } from '../platform/schema/builder.ts'
import { OneOf, Timestamp } from '../platform/schema/fields.ts'

const MAX_BRANCH = 250

/** A wrong `repo` gets a message of its own. */
export const GitRepository = Type.Object({
  type: OneOf('github', 'gitlab', 'bitbucket'),
  repo: Type.String({ description: '`owner/name`' }),
})
export type GitRepository = Static<typeof GitRepository>

export const SetBranch = Type.Object({ branch: Type.String({ minLength: 1, maxLength: MAX_BRANCH }) })

const ShownText = Type.Optional(Type.String())
const ShownNumber = Type.Optional(Type.Integer())
const DeployHook = Type.Object({ id: Type.String(), name: Type.String(), ref: Type.String(), url: Type.String() })

/** The fields of all three variants. A link has those of its type. */
export const Link = Type.Object(
  {
    type: OneOf('github', 'gitlab', 'bitbucket'),
    ...{ org: ShownText, repo: ShownText, repoId: ShownNumber, repoOwnerId: ShownNumber },
    ...{ projectId: ShownText, projectName: ShownText, projectNameWithNamespace: ShownText },
    ...{ projectNamespace: ShownText, projectUrl: ShownText, projectOwnerId: ShownNumber },
    ...{ name: ShownText, slug: ShownText, owner: ShownText, uuid: ShownText, workspaceUuid: ShownText },
    createdAt: Timestamp,
    updatedAt: Timestamp,
    gitCredentialId: Type.String({ description: 'empty where none was needed, or it is of another account' }),
    productionBranch: Type.String(),
    sourceless: Type.Boolean(),
    deployHooks: Type.Array(DeployHook),
  },
  { title: 'Link' },
)

/** A link as stored. */
export type StoredLink = {
  type: GitRepository['type']
  shown: Record<string, string | number>
  createdAt: number
  updatedAt: number
  gitCredentialId: string
  productionBranch: string
  /** The webhook at the provider, in the provider's spelling. */
  hook?: { path: string; id: string }
}

/** Returns the link of a project, or undefined. */
export function linkOf({ link_json }: Pick<Row<'project'>, 'link_json'>): StoredLink | undefined {
  return link_json === null ? undefined : (JSON.parse(link_json) as StoredLink)
}

/** Returns a link for a reply. */
export function showLink({ type, shown, hook: _, ...rest }: StoredLink): Static<typeof Link> {
  return { type, ...shown, ...rest, sourceless: false, deployHooks: [] }
}

/** Returns the link of a transferred project, without the old account's credential. */
export function linkWithoutCredential(project: Row<'project'>): string | null {
  const link = linkOf(project)
  return link === undefined ? null : JSON.stringify({ ...link, gitCredentialId: '' } satisfies StoredLink)
}
