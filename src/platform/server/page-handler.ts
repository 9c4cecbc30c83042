import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '../../context.ts'
import { peerOf } from '../http/failure-limits.ts'
import type { Probe, ProbeAnswer, PublicPage } from '../http/public-page.ts'
import type { OperationMetrics } from '../http/request-metrics.ts'
import { acceptsGzip, zipPage } from '../pages/compress.ts'
import { handlePage } from '../pages/handle-page.ts'
import type { RouteClient } from '../pages/route-client.ts'
import type { Screen } from '../pages/screen.ts'

/** Whether a request accepts HTML and is below the path of the not-found page. */
export function acceptsHtml({ originalUrl, headers: { accept = '' } }: FastifyRequest, { path }: Screen): boolean {
  return originalUrl.startsWith(path.slice(0, -1)) && /\btext\/html\b/i.test(accept)
}

/** Returns the handler of a public page. Prepared bytes are sent as they are, because encoding or compressing megabytes per request takes too long. */
export async function openPageAnswer(
  deps: Pick<Deps, 'config'>,
  page: PublicPage | Probe,
  request: FastifyRequest,
): Promise<ProbeAnswer> {
  const { accept, authorization, 'accept-encoding': acceptEncoding } = request.headers
  if ('answer' in page)
    return page.answer(authorization, peerOf(deps, request.raw), { accept, acceptEncoding, url: request.originalUrl })
  if (page.zipped === undefined) return { status: 200, body: page.body() }
  const headers = { vary: 'accept-encoding' }
  if (!acceptsGzip(acceptEncoding)) return { status: 200, body: page.body(), headers }
  return { status: 200, body: await page.zipped(), headers: { ...headers, 'content-encoding': 'gzip' } }
}

/** Returns the handler of a screen. Errors are pages too. A caller that does not await it must catch. */
export function createPageHandler(deps: Deps, bridge: RouteClient, screen: Screen, watch: OperationMetrics) {
  return async (request: FastifyRequest, reply: FastifyReply, error?: Error) => {
    const since = watch.begin()
    const { status, headers, body, refusal } = await handlePage(deps, bridge, screen, request, error)
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
