/** Answers a visitor with a static file: plans, opens the form that is planned, and sends it. docs/deploying-sites.md: Static files. */
import type { ContentCache } from '../content/content-cache.ts'
import type { OpenedFile } from '../content/opened-file.ts'
import {
  planResponse,
  type ResponsePlan,
  type RuleHeaders,
  type StaticEntry,
  type StaticRequest,
} from './response-plan.ts'
import { sendPlan, type Visitor } from './send.ts'

/** What the router chose for a visitor. */
export type StaticAnswer = {
  account: string
  request: StaticRequest
  file: Omit<StaticEntry, 'forms'>
  rules: RuleHeaders
}

/**
 * Answers with the bytes of the cache. A form that is not there is made for later visitors, and nobody waits for it. What needs no bytes
 * (304, HEAD, a refusal) is answered without fetching any. Throws what `open` of the cache and `sendPlan` throw.
 */
export async function answerFile(cache: ContentCache, response: Visitor, answer: StaticAnswer): Promise<void> {
  const { account, file } = answer
  const { plan, opened } = await openPlanned(cache, answer)
  if (plan.wanted !== undefined) void cache.encode(account, file.digest, plan.wanted)
  await sendPlan(plan, response, opened)
}

async function openPlanned(
  cache: ContentCache,
  { account, request, file, rules }: StaticAnswer,
): Promise<{ plan: ResponsePlan; opened: OpenedFile | undefined }> {
  const { digest, size } = file
  const plan = planResponse(request, { ...file, forms: cache.formsOf(account, digest) }, rules)
  if (plan.body.kind !== 'file') return { plan, opened: undefined }
  const { encoding } = plan.body
  const form = encoding && (await cache.openEncoded(account, digest, encoding))
  if (form !== undefined) return { plan, opened: form }
  const opened = await cache.open(account, { sha256: digest, size })
  // A form that has just gone: the plain one is sent.
  return { plan: encoding ? planResponse(request, { ...file, forms: [] }, rules) : plan, opened }
}
