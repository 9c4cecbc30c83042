/** Serves a static file: plans the response, opens the planned form and sends it. docs/deploying-sites.md: Static files. */
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

export type StaticAnswer = {
  account: string
  request: StaticRequest
  file: Omit<StaticEntry, 'forms'>
  rules: RuleHeaders
}

/** Sends a file; only responses with bytes fetch it. Encodes missing forms in the background. Throws like `open` and `sendPlan`. */
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
  // The encoded form was just evicted, so the plain one is sent.
  return { plan: encoding ? planResponse(request, { ...file, forms: [] }, rules) : plan, opened }
}
