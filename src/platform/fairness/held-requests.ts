/** Requests that are held open until something changes, such as those of runners and sites servers. */
import type { ServerResponse } from 'node:http'

/** Above this, requests are answered at once. */
const MAX_HELD = 500

export type HeldRequests = {
  /** Holds a request until it is woken, for at most `ms`, or until its response is closed. Returns false at once where it may not wait. */
  hold(response: ServerResponse, ms: number): Promise<boolean>
  size(): number
  wake(): void
  /** Wakes the request that was held first. */
  wakeOne(): void
  /** Wakes all, and holds no others. */
  end(): void
  isOver(): boolean
}

/** Creates an empty set, which ends with `stopping`. */
export function openHeldRequests(stopping: AbortSignal): HeldRequests {
  const held = new Set<() => void>()
  let isOver = stopping.aborted
  const wake = () => {
    for (const go of held) go()
  }
  const end = () => {
    isOver = true
    wake()
  }
  stopping.addEventListener('abort', end, { once: true })
  return {
    end,
    wake,
    size: () => held.size,
    isOver: () => isOver,
    wakeOne() {
      for (const go of held) return go()
    },
    hold: (response, ms) =>
      new Promise((resolve) => {
        if (isOver || ms <= 0 || held.size >= MAX_HELD || response.destroyed) return resolve(false)
        const go = () => {
          clearTimeout(timer)
          held.delete(go)
          response.off('close', go)
          resolve(true)
        }
        const timer = setTimeout(go, ms)
        response.on('close', go)
        held.add(go)
      }),
  }
}
