/** Pages for people on the server. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '../../context.ts'
import { peerOf } from '../http/failure-limits.ts'
import type { OpenPage, Probe, ProbeAnswer } from '../http/public-page.ts'
import type { Watch } from '../http/request-metrics.ts'
import type { Bridge } from '../pages/route-client.ts'
import { answerBrowser } from '../pages/handle-page.ts'
import { takesGzip, zipPage } from '../pages/compress.ts'
import type { Screen } from '../pages/screen.ts'

/** Whether a browser asks, and below the path of what it is shown where nothing is. */
export function isForPeople({ originalUrl, headers: { accept = '' } }: FastifyRequest, { path }: Screen): boolean {
  return originalUrl.startsWith(path.slice(0, -1)) && /\btext\/html\b/i.test(accept)
}

/** What a page that is there for everybody answers. What was made once is sent as it is: making two megabytes of bytes, or of gzip, for each stranger takes too long. */
export async function openPageAnswer(
  deps: Pick<Deps, 'config'>,
  page: OpenPage | Probe,
  request: FastifyRequest,
): Promise<ProbeAnswer> {
  const { accept, authorization, 'accept-encoding': acceptEncoding } = request.headers
  if ('answer' in page)
    return page.answer(authorization, peerOf(deps, request.raw), { accept, acceptEncoding, url: request.originalUrl })
  if (page.zipped === undefined) return { status: 200, body: page.body() }
  const headers = { vary: 'accept-encoding' }
  if (!takesGzip(acceptEncoding)) return { status: 200, body: page.body(), headers }
  return { status: 200, body: await page.zipped(), headers: { ...headers, 'content-encoding': 'gzip' } }
}

/** Makes what answers a page for people: what goes wrong with it is a page too. Whoever does not wait for it catches what it throws. */
export function answerOf(deps: Deps, bridge: Bridge, screen: Screen, watch: Watch) {
  return async (request: FastifyRequest, reply: FastifyReply, error?: Error) => {
    const since = watch.begin()
    const { status, headers, body, refusal } = await answerBrowser(deps, bridge, screen, request, error)
    watch.end(request, { since, status, refusal })
    reply.code(status).headers(headers)
    if (typeof body === 'string') {
      const zipped = await zipPage(body, request.headers['accept-encoding'])
      if (zipped) reply.header('content-encoding', 'gzip')
      return reply.header('vary', 'accept-encoding').send(zipped ?? body)
    }
    if (request.method !== 'HEAD') return reply.send(body)
    body.destroy()
    return reply.send()
  }
}
