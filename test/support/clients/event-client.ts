/** A client of server-sent events, as a page of the console is: with the cookies of a browser, over a real connection. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Client } from './browser-client.ts'

export type ServerEvent = { event: string; data: { at?: string; changed?: string[]; message?: string }; atMs: number }
export type Stream = { status: number; headers: Headers; told: ServerEvent[]; isOver(): boolean; close(): void }

/** The stamp at which a page was read, from its markup. */
export function stampOf(markup: string): string {
  const [, stamp] = /<meta name="berth-live" content="([^"]+)">/.exec(markup) ?? []
  assert.ok(stamp, 'the page follows what changes')
  return stamp
}

/** Opens the page and then its stream, as a browser does. `since`: another stamp than the page's. */
export async function openEventStream(
  t: Pick<TestContext, 'after'>,
  origin: string,
  client: Client,
  page: string,
  since?: string,
): Promise<Stream> {
  const shown = since ?? stampOf((await client.get(page)).text)
  const stop = new AbortController()
  t.after(() => stop.abort())
  const cookie = [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const answer = await fetch(`${origin}/console/live?${new URLSearchParams({ page, since: shown })}`, {
    headers: { cookie },
    redirect: 'manual',
    signal: stop.signal,
  })
  const told: ServerEvent[] = []
  let over = false
  const listen = async () => {
    let text = ''
    for await (const bytes of answer.body!.pipeThrough(new TextDecoderStream())) {
      text += bytes
      const blocks = text.split('\n\n')
      text = blocks.pop()!
      for (const block of blocks) {
        const [, event, data] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? []
        if (event !== undefined) told.push({ event, data: JSON.parse(data!), atMs: performance.now() })
      }
    }
  }
  listen()
    .catch(() => {})
    .finally(() => {
      over = true
    })
  return { status: answer.status, headers: answer.headers, told, isOver: () => over, close: () => stop.abort() }
}
