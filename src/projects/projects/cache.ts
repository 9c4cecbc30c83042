/** Purges of the cached pages and data of a project. docs/prerendering.md: Purge. */
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { changeProject, findProject } from '../../model/project.ts'
import type { Queries } from '../../platform/db/db.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { addPurge, cachePurgesOf, type PurgeKind } from '../../platform/verdict/cache-purges.ts'

const MAX_TAGS = 16
const MAX_TAG = 256

export const OfProject = Type.Object({
  projectIdOrName: Type.String({ maxLength: 256, description: 'the project, by id or name' }),
})

/** The command line sends tags as one text, separated by commas; the SDK as a list. */
export const PurgeTags = Type.Object({
  tags: Type.Unsafe<string | string[]>({
    anyOf: [
      { type: 'string', minLength: 1, maxLength: MAX_TAGS * (MAX_TAG + 1) },
      { type: 'array', minItems: 1, maxItems: MAX_TAGS, items: { type: 'string', minLength: 1, maxLength: MAX_TAG } },
    ],
    description: 'tags of pages, as a list or separated by commas',
  }),
})

export const DeleteTags = Type.Object({
  ...PurgeTags.properties,
  revalidationDeadlineSeconds: Type.Optional(Type.Number({ minimum: 0 })),
})

/** The project whose pages were purged. */
export const Purged = Type.Object({ id: Type.String() })

type Query = Static<typeof OfProject>

/** Purges all pages. */
export async function purgeAll(ctx: Ctx, _: unknown, { query }: Input<Query, unknown>): Promise<Static<typeof Purged>> {
  return purge(ctx, query, 'gone')
}

/** Makes pages with these tags stale. */
export async function invalidateTags(ctx: Ctx, _: unknown, { query, body }: Input<Query, Static<typeof PurgeTags>>) {
  return purge(ctx, query, 'stale', tagsOf(body.tags))
}

/** Deletes pages with these tags, or lets them be stale first where the request has a deadline. */
export async function deleteTags(ctx: Ctx, _: unknown, { query, body }: Input<Query, Static<typeof DeleteTags>>) {
  return purge(ctx, query, body.revalidationDeadlineSeconds ? 'stale' : 'gone', tagsOf(body.tags))
}

async function purge(ctx: Ctx, { projectIdOrName }: Query, kind: PurgeKind, tags?: string[]) {
  const project = await findProject(ctx, { idOrName: projectIdOrName })
  const purges = addPurge(cachePurgesOf(project.purges_json), kind, tags)
  const { id } = await changeProject(ctx, project, { purges_json: JSON.stringify(purges) })
  return { id }
}

/** Adds a purge by a function, which counts for its own environment. Returns all purges of the project as JSON; undefined: it is gone. */
export async function purgeByFunction(
  tx: Queries,
  { projectId, kind, tags, environment }: { projectId: string; kind: PurgeKind; tags: string[]; environment: string },
): Promise<string | undefined> {
  const project = tx.selectFrom('project').select('purges_json').where('id', '=', projectId)
  const row = await project.executeTakeFirst()
  if (row === undefined) return undefined
  const purges_json = JSON.stringify(addPurge(cachePurgesOf(row.purges_json), kind, tags, environment))
  await tx.updateTable('project').set({ purges_json }).where('id', '=', projectId).execute()
  return purges_json
}

function tagsOf(given: string | string[]): string[] {
  const tags = typeof given === 'string' ? given.split(',').map((tag) => tag.trim()) : given
  const wrong = tags.find((tag) => tag === '' || tag.length > MAX_TAG)
  if (wrong === undefined && tags.length <= MAX_TAGS) return tags
  refuse(
    'bad_request',
    `Invalid request: \`tags\` should be at most ${MAX_TAGS} tags of 1 to ${MAX_TAG} characters, separated by commas.`,
  )
}
