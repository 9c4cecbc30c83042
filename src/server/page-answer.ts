/** Pages for people on the server. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '../context.ts'
import type { Watch } from '../http/request-metrics.ts'
import type { Bridge } from '../pages/ask.ts'
import { answerBrowser } from '../pages/browser.ts'
import { zipPage } from '../pages/compress.ts'
import type { Screen } from '../pages/screen.ts'

/** Whether a browser asks, and below the path of what it is shown where nothing is. */
export function isForPeople({ originalUrl, headers: { accept = '' } }: FastifyRequest, { path }: Screen): boolean {
  return originalUrl.startsWith(path.slice(0, -1)) && /\btext\/html\b/i.test(accept)
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
