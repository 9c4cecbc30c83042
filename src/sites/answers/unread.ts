/** What visitors have not read of a whole answer is in memory, and counts until then. docs/prerendering.md: Answers of functions, Rendering. */
import type { ServerResponse } from 'node:http'
import type { RenderBudget } from '../prerender/render-budget.ts'

const TIMEOUT_MS = 60_000

/** Calls `release` once a visitor has read what was written for them, or is gone. One who reads nothing for `timeoutMs` is disconnected. */
export function onceRead(visitor: ServerResponse, release: () => void, timeoutMs = TIMEOUT_MS): void {
  // A pair of streams has no timeout (src/sites/pictures/inner-request.ts).
  const hasTimeout = typeof visitor.socket?.setTimeout === 'function'
  const end = () => {
    visitor.off('drain', end).off('close', end)
    if (hasTimeout) visitor.socket?.setTimeout(0)
    release()
  }
  visitor.on('drain', end).on('close', end)
  if (hasTimeout) visitor.setTimeout(timeoutMs, () => visitor.destroy())
}

/** Counts an answer that was just sent as long as its visitor has not read it. Without room for it, they are disconnected. */
export function countUnread(visitor: ServerResponse, budget: RenderBudget, account: string, bytes: number): void {
  // What the system takes at once is in the memory of no one else.
  setImmediate(() => {
    if (visitor.writableFinished || visitor.destroyed) return
    if (!budget.take(account, bytes)) return void visitor.destroy()
    onceRead(visitor, () => budget.giveBack(account, bytes))
  })
}
