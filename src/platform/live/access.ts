/** Access of open pages, read before each notification, so that revoked sessions receive nothing. */
import { identifyBySession } from '../access/session-authentication.ts'
import type { Topic, TopicKind } from '../db/change-feed.ts'
import { preparedQuery, type Queries } from '../db/db.ts'
import type { Permission } from '../permissions/roles.ts'
import { Refusal } from '../refusals/refusal.ts'
import type { LivePage } from './live-page.ts'

/** TABLE Topic → permission to receive its name; null: never sent */
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

/** `isCurrent`: false if the project of the page left the account. The page is then notified once more, without names. */
export type LiveAccess = { permissions: ReadonlySet<Permission>; isCurrent: boolean }

/** Whether the page may receive the name of a topic. */
export function canReceive({ permissions }: LiveAccess, subject: Topic): boolean {
  const needs = NEEDS[subject.slice(0, subject.indexOf(' ')) as TopicKind]
  return needs !== null && permissions.has(needs)
}

/** Reads the access of each page, in order; undefined if the session ended or the user left the account. */
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
