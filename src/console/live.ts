import type { Static } from 'typebox'
import { decodeText } from '../platform/http/query.ts'
import type { OwnAccount } from '../platform/pages/own-accounts.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../platform/pages/screen.ts'
import { refuse } from '../platform/refusals/refusal.ts'
import { Type } from '../platform/schema/builder.ts'
import { findAccountOfPath } from './frame.ts'
import { findProjectId } from './shell/shown-project.ts'

const LiveQuery = Type.Object({
  page: Type.String({ maxLength: 1000 }),
  /** When the page was rendered, as a stamp. */
  since: Type.String({ maxLength: 50 }),
})

export const liveScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: '/console/live',
    name: 'followPage',
    query: LiveQuery,
    calls: [],
    streams: true,
    run: followPage,
  }),
]

/** Streams change events to an open page. docs/console.md: Live updates. Refuses: not_found 404 (no account, or a project that does not exist). */
async function followPage(ctx: ConsoleCtx, { query: { page, since } }: ScreenInput<Static<typeof LiveQuery>>) {
  const { userId, sessionHash } = ctx.user
  const at = { sessionHash, userId }
  if (/^\/console\/account(\/|$)/.test(page))
    return { events: ctx.deps.live.open({ ...at, accountId: userId, projectId: undefined }, since) }
  const [, slug, , name] = /^\/console\/t\/([^/]+)(\/projects\/([^/]+))?/.exec(page) ?? []
  if (slug === undefined) refuse('not_found', 'This page belongs to no account, so it has no live updates.')
  const account = await findAccountOfPath(ctx, { slug: decodeText(slug) ?? '' })
  const projectId = name === undefined ? undefined : await projectIdOf(ctx, account, decodeText(name) ?? '')
  return { events: ctx.deps.live.open({ ...at, accountId: account.id, projectId }, since) }
}

async function projectIdOf(ctx: ConsoleCtx, account: OwnAccount, name: string): Promise<string> {
  return (await findProjectId(ctx, account, name)) ?? refuse('not_found')
}
