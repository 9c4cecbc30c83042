/** Answers as they leave, and those that are given again until something in them changes. docs/architecture.md: What is remembered. */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { Deps, Who } from '../../context.ts'
import { isCachedCaller, subjectsOf } from '../access/identify.ts'
import { type KnownAnswers, openKnownAnswers } from '../cache/versioned-cache.ts'
import type { Memory, Packed } from '../cache/cache.ts'
import type { Row } from '../db/schema.ts'
import { serialize, serializeLines, serializeList } from '../schema/serialize.ts'
import { pageLinks } from './pagination.ts'
import { splitQuery } from './query.ts'
import type { Follows, Route } from './route.ts'

/** An answer in the form in which it is sent. */
export type Written = {
  links: string | undefined
  /** When it is not the route's own. */
  contentType?: string
  body: string | Buffer | undefined
  /** Of an answer that was kept: the route's may be another today. */
  status?: number
  headers?: Record<string, string>
}

/** Writes what an operation gave, by the schema of its route. `url`: as the caller wrote it. */
export function writeAnswer(route: Route, answer: unknown, url: string): Written {
  const links = pageLinks(answer, url)
  if (route.textReply) return { links, body: answer as string }
  if (route.lines) return { links, body: `${serialize(route.reply!, answer)}\n`, contentType: LINES }
  const headers = route.replyHeaders?.(answer)
  return { links, body: route.reply && serialize(route.reply, answer), ...(headers && { headers }) }
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

/** One project, with what is in it. */
export const ofProject: Follows = (_, project) => [`project ${(project as Row<'project'>).id}`]
/** The list of projects of the account. */
export const ofProjects: Follows = ({ account }) => [`projects ${account.id}`]

/** Longer ones would take the place of many. */
const LONGEST = 256 * 1024
/** Shorter ones are not packed: little would be won. */
const WORTH_PACKING = 8 * 1024

type Asking = { memory: Memory | undefined; route: Route; who: Who | undefined; url: string }

/** The answer that this caller would be given again at this address; undefined: it is to be made. */
export function findAnswer({ memory, route, who, url }: Asking): Written | undefined {
  if (memory === undefined || who === undefined || route.remember === undefined || !isCachedCaller(who))
    return undefined
  return memory.find(keyOf(who, url)) as Written | undefined
}

/** `clear`: it may hold a value in clear. */
type Make = () => Promise<{ written: Written; subject: unknown; clear: boolean }>

const knownOf = new WeakMap<Deps['db'], KnownAnswers<Written>>()

/** The answer for this caller and address, which is made when the state is another one than that of the answer that is known. */
export async function answerByState(
  { db }: Deps,
  { who, url, state }: { who: Who; url: string; state: string },
  make: Make,
): Promise<Written> {
  const known = knownOf.getOrInsertComputed(db, () => openKnownAnswers())
  const key = [who.actor.tokenId ?? who.userId, who.role, ...who.permissions, url].join(' ')
  const former = known.find(who.account.id, key, state)
  if (former !== undefined) return former
  const { written, clear } = await make()
  if (!clear) known.keep(who.account.id, key, state, written)
  return written
}

/** Makes an answer and remembers it, unless something in it changed meanwhile or it may hold a value in clear. */
export async function makeAnswer({ memory, route, who, url }: Asking, make: Make): Promise<Written> {
  const since = memory?.stamp() ?? 0
  const { written, subject, clear } = await make()
  const { body } = written
  if (memory === undefined || who === undefined || route.remember === undefined) return written
  if (clear || !isCachedCaller(who) || body === undefined || body.length > LONGEST) return written
  // As bytes of its own: text would be made into bytes anew for everybody who asks, and a part of a larger buffer would keep all of it.
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(body))
  if (typeof body === 'string') bytes.write(body)
  else bytes.set(body)
  const value: Written = { ...written, body: bytes }
  const subjects = [...subjectsOf(who), ...route.remember(who, subject)]
  const remembered = { value, bytes: bytes.length, owner: who.account.id, subjects }
  memory.keep(keyOf(who, url), since, bytes.length < WORTH_PACKING ? remembered : { ...remembered, pack: packAnswer })
  return value
}

/** An answer whose body is compressed: a list becomes less than a tenth of it in 0.1 ms, and making it anew takes milliseconds. */
function packAnswer(answer: unknown): Packed {
  const { body, ...rest } = answer as Written
  const packed = zstdCompressSync(body!, { params: { [constants.ZSTD_c_compressionLevel]: 1 } })
  // As bytes of its own, as above.
  const kept = Buffer.allocUnsafeSlow(packed.length)
  kept.set(packed)
  return { bytes: kept.length, unpack: () => ({ ...rest, body: zstdDecompressSync(kept) }) }
}

/** Who acts is one object for as long as it is remembered. What another one was answered is not found. */
function keyOf(who: Who, url: string): string {
  let name = names.get(who)
  if (name === undefined) {
    name = `${++lastName}`
    names.set(who, name)
  }
  return `${name} ${url}`
}
const names = new WeakMap<Who, string>()
let lastName = 0
