/** Redeems sign-in codes of protected sites, for the sites server that got one from a browser. docs/edge.md: Sign-in of members. */
import type { IncomingMessage } from 'node:http'
import type { Deps } from '../../context.ts'
import { json, plain } from '../../platform/verdict/plain-answer.ts'
import { isSecret, SIGN_IN_HEADERS } from '../../platform/verdict/site-sign-in.ts'
import type { EdgeResponse } from '../../platform/verdict/visitor-answer.ts'
import { redeemSiteCode } from '../../projects/site-sign-in/site-sessions.ts'
import { readName } from './visitor.ts'

/** Handles a POST with the code in its headers: 200 with `Redeemed` as JSON, 410 for an invalid code, 400 for a malformed one. */
export async function answerCode(deps: Deps, { method, headers }: IncomingMessage): Promise<EdgeResponse> {
  if (method !== 'POST') return plain(405, 'A code is redeemed with POST.', { allow: 'POST' })
  const [code, state] = [headers[SIGN_IN_HEADERS.code], headers[SIGN_IN_HEADERS.state]]
  const host = readName(String(headers[SIGN_IN_HEADERS.host] ?? ''))
  if (!isSecret(code) || !isSecret(state) || host === '')
    return plain(400, 'Send the code, the browser state and the host in headers.')
  const redeemed = await redeemSiteCode(deps, { code, state, host })
  if (redeemed === undefined) return plain(410, 'The code opens nothing here, or nothing any more.')
  return json(200, redeemed)
}
