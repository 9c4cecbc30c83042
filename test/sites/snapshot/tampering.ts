/** A proxy between a sites server and a control plane that changes what passes, as a failure would. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

type Change = (text: string) => string

export async function openTampering(t: TestContext, target: string) {
  let tamper: Change | undefined
  let changeSince: Change | undefined
  let seen: (() => void) | undefined
  const server = createServer(async (request, response) => {
    const url = new URL(request.url!, target)
    const since = url.searchParams.get('since')
    if (since !== null && changeSince !== undefined) {
      url.searchParams.set('since', changeSince(since))
      changeSince = undefined
    }
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    try {
      const headers = { authorization: request.headers.authorization ?? '' }
      const answer = await fetch(url, { headers, signal: gone.signal })
      const text = await answer.text()
      const isList = url.pathname.endsWith('/snapshot') && answer.status === 200
      response.writeHead(answer.status).end(isList && tamper !== undefined ? tamper(text) : text)
      if (isList && tamper !== undefined) seen?.()
    } catch {
      response.destroy()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Changes every list from now on. Resolves once one was. */
    tamperWith(change: Change | undefined): Promise<void> {
      tamper = change
      const { promise, resolve } = Promise.withResolvers<void>()
      seen = resolve
      return promise
    },
    /** Changes the version of the next request that has one. */
    askSince(change: Change) {
      changeSince = change
    },
    /** Cuts what waits. */
    async drop() {
      server.closeAllConnections()
    },
  }
}
