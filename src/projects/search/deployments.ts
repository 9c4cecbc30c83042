/** Finds deployments by id, host name, branch or commit, among the newest. docs/console.md: Search. */
import { sql } from 'kysely'
import type { Ctx } from '../../context.ts'
import { commitField, commitTitle, type Meta } from '../../model/commit.ts'
import { jsonArrayValues } from '../../platform/db/bulk.ts'
import { createYielder } from '../../platform/db/chunks.ts'
import { containsPattern } from '../../platform/db/db.ts'
import { type FinderResult, MAX_SEARCHED_PROJECTS } from './finder.ts'
import { withProjects } from './names.ts'

/** Deployments scanned per search, and per statement: each has up to 64 KiB of meta. */
const MAX_DEPLOYMENTS = 2000
const SLICE = 100
/** Of SHA-256. Clients may write any text. */
const MAX_SHA = 64

type Found = { id: string; url: string; git_branch: string | null; meta_json: string; project_id: string }

/** Finds visible deployments, newest first: by id, part of the host name, the branch or the commit message, or the beginning of the SHA. */
export async function findDeployments(ctx: Ctx, text: string, count: number): Promise<FinderResult> {
  const pace = createYielder()
  const found: Found[] = []
  let before: string | number | undefined
  for (let looked = 0; looked < MAX_DEPLOYMENTS && found.length < count; looked += SLICE) {
    const slice = newest(ctx, before)
    found.push(...(await matchesIn(ctx, slice, text)).filter((deployment) => isMeant(deployment, text)))
    const last = await slice
      .clearSelect()
      .select('created_stamp')
      .offset(SLICE - 1)
      .limit(1)
      .executeTakeFirst()
    if (last === undefined) return { found: await shown(ctx, found.slice(0, count)), partial: false }
    before = last.created_stamp
    await pace()
  }
  return { found: await shown(ctx, found.slice(0, count)), partial: found.length < count }
}

function newest({ db, account, caller }: Ctx, before: string | number | undefined) {
  let all = db
    .selectFrom('deployment')
    .select(['id', 'url', 'git_branch', 'meta_json', 'project_id', 'created_stamp'])
    .where('account_id', '=', account.id)
  if (before !== undefined) all = all.where('created_stamp', '<', before as number)
  if (caller.projectIds !== null) {
    const visible = JSON.stringify(caller.projectIds.slice(0, MAX_SEARCHED_PROJECTS))
    all = all.where('project_id', 'in', jsonArrayValues(db, visible))
  }
  return all.orderBy('created_stamp', 'desc')
}

/** `like` on the whole meta reads no row that cannot match; `isMeant` looks at the fields of the commit alone. */
function matchesIn({ db }: Ctx, slice: ReturnType<typeof newest>, text: string): Promise<Found[]> {
  const part = containsPattern(text)
  return db
    .selectFrom(slice.limit(SLICE).as('slice'))
    .select(['id', 'url', 'git_branch', 'meta_json', 'project_id'])
    .where(
      sql<boolean>`(lower(id) = ${text} or url like ${part} escape '!' or lower(git_branch) like ${part} escape '!' or lower(meta_json) like ${part} escape '!')`,
    )
    .orderBy('created_stamp', 'desc')
    .execute()
}

function isMeant({ id, url, git_branch, meta_json }: Found, text: string): boolean {
  const has = (value: string | null | undefined) => value?.toLowerCase().includes(text) ?? false
  if (id.toLowerCase() === text || has(url) || has(git_branch)) return true
  const meta = JSON.parse(meta_json) as Meta
  const sha = commitField(meta, 'CommitSha')?.toLowerCase() ?? ''
  return has(commitField(meta, 'CommitMessage')) || (text.length >= 4 && sha.startsWith(text))
}

async function shown(ctx: Ctx, rows: readonly Found[]): Promise<FinderResult['found']> {
  const placed = await withProjects(
    ctx,
    rows.map(({ url, project_id }) => ({ name: url, project_id })),
  )
  return placed.map((deployment, at) => {
    const meta = JSON.parse(rows[at]!.meta_json) as Meta
    const title = commitTitle(meta)
    const commitSha = commitField(meta, 'CommitSha')?.slice(0, MAX_SHA)
    return { ...deployment, id: rows[at]!.id, ...(title !== undefined && { title }), ...(commitSha && { commitSha }) }
  })
}
