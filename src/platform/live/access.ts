/** Who may still hear of what: it is read at the moment of telling, so that nobody hears anything after a right has ended. */
import { identifyBySession } from '../access/session-authentication.ts'
import type { Topic, TopicKind } from '../db/change-feed.ts'
import { preparedQuery, type Queries } from '../db/db.ts'
import type { Permission } from '../permissions/roles.ts'
import { Refusal } from '../refusals/refusal.ts'
import type { LivePage } from './live-page.ts'

/** TABLE what somebody must be allowed to read to be told the name of a subject; null: it is told to nobody. */
const NEEDS: Record<TopicKind, Permission | null> = {
  project: 'project:read',
  projects: 'project:read',
  account: 'team:read',
  endpoints: 'webhook:read',
  invitations: 'team:read',
  domains: 'domain:read',
  variables: 'env:read',
  sessions: 'user:read',
  edge: null,
}

/** `lasts`: false where the project of the page is gone from the account. The page is told that something has changed, and nothing after it. */
export type LiveAccess = { permissions: ReadonlySet<Permission>; isCurrent: boolean }

/** Whether the name of a subject may be told. */
export function canReceive({ permissions }: LiveAccess, subject: Topic): boolean {
  const needs = NEEDS[subject.slice(0, subject.indexOf(' ')) as TopicKind]
  return needs !== null && permissions.has(needs)
}

/** Reads the right of each page, in the order of the pages; undefined: the session has ended, or the person is not in the account any more. */
export async function readLiveAccess(
  db: Queries,
  pages: readonly LivePage[],
  now: number,
): Promise<(LiveAccess | undefined)[]> {
  const read = new Map<string, Promise<LiveAccess | undefined>>()
  return Promise.all(
    pages.map((page) => {
      const key = `${page.sessionHash} ${page.accountId} ${page.projectId}`
      const right = read.get(key) ?? readRight(db, page, now)
      read.set(key, right)
      return right
    }),
  )
}

async function readRight(db: Queries, page: LivePage, now: number): Promise<LiveAccess | undefined> {
  try {
    const { permissions } = await identifyBySession(db, page.sessionHash, page.accountId, now)
    return { permissions, isCurrent: page.projectId === undefined || (await isIn(db, page.projectId, page.accountId)) }
  } catch (error) {
    if (error instanceof Refusal && error.status < 500) return undefined
    throw error
  }
}

const find = preparedQuery<{ id: string }, { account_id: string }>((db, value) =>
  db.selectFrom('project').select('account_id').where('id', '=', value.id),
)

async function isIn(db: Queries, projectId: string, accountId: string): Promise<boolean> {
  const [project] = await find(db, { id: projectId })
  return project?.account_id === accountId
}
