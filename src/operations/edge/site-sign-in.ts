/** Redeems the codes with which members come into protected sites, for the sites server that a browser brought one to. docs/edge.md: Members sign in. */
import type { IncomingMessage } from 'node:http'
import type { Deps } from '../../context.ts'
import { isSecret, SIGN_IN_HEADERS } from '../../platform/verdict/site-sign-in.ts'
import type { EdgeResponse } from '../../platform/verdict/visitor-answer.ts'
import { redeemSiteCode } from '../../projects/site-sign-in/site-sessions.ts'
import { PLAIN, plain } from './plain-answer.ts'
import { readName } from './visitor.ts'

/** What is in the headers of a POST: 200 with `Redeemed` as JSON, 410 where the code opens nothing, 400 where it is none. */
export async function answerCode(deps: Deps, { method, headers }: IncomingMessage): Promise<EdgeResponse> {
  if (method !== 'POST') return { ...plain(405, 'A code is redeemed with POST.'), headers: { ...PLAIN, allow: 'POST' } }
  const [code, state] = [headers[SIGN_IN_HEADERS.code], headers[SIGN_IN_HEADERS.state]]
  const host = readName(String(headers[SIGN_IN_HEADERS.host] ?? ''))
  if (!isSecret(code) || !isSecret(state) || host === '')
    return plain(400, 'Say the code, the state of the browser and the host in headers.')
  const redeemed = await redeemSiteCode(deps, { code, state, host })
  if (redeemed === undefined) return plain(410, 'The code opens nothing here, or nothing any more.')
  return { status: 200, headers: { ...PLAIN, 'content-type': 'application/json' }, body: JSON.stringify(redeemed) }
}
