/** Ingests usage reports of sites servers. docs/deploying-sites.md: Usage. */
import type { IncomingMessage } from 'node:http'
import type { Deps } from '../../context.ts'
import { MAX_REPORT_BYTES, readUsageReport } from '../../delivery/protocol/usage-report.ts'
import { Refusal } from '../../platform/refusals/refusal.ts'
import { PLAIN, plain } from '../../platform/verdict/plain-answer.ts'
import type { EdgeResponse } from '../../platform/verdict/visitor-answer.ts'
import { addUsage } from '../../projects/deployments/usage.ts'

/**
 * Handles a POST of a report: 200 once counted, also when repeated; 400 when malformed, 413 when too long, 503 when the database is unavailable. Call
 * it in the same event loop turn as the request, before parts of the body are lost.
 */
export async function answerReport(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  request: IncomingMessage,
): Promise<EdgeResponse> {
  if (request.method !== 'POST')
    return { ...plain(405, 'Usage is sent with POST.'), headers: { ...PLAIN, allow: 'POST' } }
  const text = await readBody(request)
  if (text === undefined) {
    const answer = plain(413, `A report of usage has at most ${MAX_REPORT_BYTES} bytes.`)
    return { ...answer, headers: { ...answer.headers, connection: 'close' } }
  }
  const report = readUsageReport(text)
  if ('sentence' in report) return plain(400, report.sentence)
  try {
    await db.write((tx) => addUsage(tx, report, clock.now()))
  } catch (error) {
    // The sites server retries.
    if (db.refusalOf(error) === undefined && !(error instanceof Refusal)) throw error
    return {
      ...plain(503, 'The database is unavailable. Send it again.'),
      headers: { ...PLAIN, 'retry-after': '1' },
    }
  }
  return plain(200, 'counted')
}

/** Undefined when it is too long. */
function readBody(request: IncomingMessage): Promise<string | undefined> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = []
    let bytes = 0
    request.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes <= MAX_REPORT_BYTES) return void pieces.push(piece)
      pieces.length = 0
      resolve(undefined)
    })
    request.once('end', () => resolve(Buffer.concat(pieces).toString()))
    request.once('close', () => resolve(''))
  })
}
