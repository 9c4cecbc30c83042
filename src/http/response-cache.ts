/** Answers as they leave, and those that are given again as they were until the next commit. docs/decisions/0039. */
import type { Deps, Who } from '../context.ts'
import { type KnownAnswers, openKnownAnswers } from '../known-answers.ts'
import { serialize, serializeLines, serializeList } from '../schema/serialize.ts'
import { pageLinks } from './page.ts'
import { splitQuery } from './query.ts'
import type { Route } from './route.ts'

/** An answer in the form in which it is sent. */
export type Written = {
  links: string | undefined
  /** When it is not the route's own. */
  contentType?: string
  body: string | Buffer | undefined
  /** It is not remembered: each time that it is given leaves a line. */
  isOnce?: boolean
  /** Of an answer that was kept: the route's may be another today. */
  status?: number
  headers?: Record<string, string>
}

/** A few megabytes at the most. */
const KEPT = 50
const LONGEST = 65_536

/** Writes what an operation gave, by the schema of its route. `url` as the caller said it. */
export function writeAnswer(route: Route, answer: unknown, url: string): Written {
  const links = pageLinks(answer, url)
  if (route.textReply) return { links, body: answer as string }
  if (route.lines) return { links, body: `${serialize(route.reply!, answer)}\n`, contentType: LINES }
  return { links, body: route.reply && serialize(route.reply, answer) }
}

const LINES = 'application/stream+json'

/** As `writeAnswer`, of a list. One that weighs more than its route says is answered all the same, and logged as a fault. */
export async function writeList(
  { log }: Pick<Deps, 'log'>,
  route: Route,
  answer: unknown,
  url: string,
): Promise<Written> {
  const asLines = route.lines && splitQuery(url).values.format === 'lines'
  const body = asLines
    ? await serializeLines(route.reply!, answer as unknown[])
    : await serializeList(route.reply!, answer)
  const { rows, rowBytes } = route.list!
  if (body.length > rows * rowBytes)
    log.error({ operationId: route.operationId, bytes: body.length }, 'a list weighs more than its route says')
  return { links: pageLinks(answer, url), body, ...(asLines && { contentType: LINES }) }
}

/** The answer that is kept under the key, or the one that is made. `kept` is taken before anything is read: a commit replaces it. */
export async function remembered(
  cache: Map<string, unknown> | undefined,
  key: string,
  make: () => Promise<Written>,
): Promise<Written> {
  const before = cache?.get(key) as Written | undefined
  if (before !== undefined) return before
  const answer = await make()
  if (cache === undefined || answer.isOnce || (answer.body?.length ?? 0) > LONGEST) return answer
  if (cache.size >= KEPT) cache.clear()
  // As bytes: text would be made into bytes anew for everybody who asks, 20 KB of garbage each time.
  const bytes = answer.body === undefined ? answer : { ...answer, body: Buffer.from(answer.body as string) }
  cache.set(key, bytes)
  return bytes
}

const knownOf = new WeakMap<Deps['db'], KnownAnswers<Written>>()

/** The answer for this caller and address, which is made when the state is another one than that of the answer that is known. */
export async function answerByState(
  { db }: Deps,
  { who, url, state }: { who: Who; url: string; state: string },
  make: () => Promise<Written>,
): Promise<Written> {
  const known = knownOf.getOrInsertComputed(db, () => openKnownAnswers())
  const key = [who.actor.tokenId, who.role, ...who.permissions, url].join(' ')
  const former = known.find(who.account.id, key, state)
  if (former !== undefined) return former
  const answer = await make()
  known.keep(who.account.id, key, state, answer)
  return answer
}
