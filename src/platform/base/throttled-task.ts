/** Work in the background that is done soon after somebody woke it: at once, and then at most once in a while, so that what comes meanwhile is done together. */

/** Work that failed is tried again after so long. */
const RETRY_MS = 1000

export type ThrottledTask = {
  wake(): void
  /** Resolves when the work that runs has ended. None begins after it. */
  stop(): Promise<void>
}

/** `work` says whether there is more to do. What it throws is passed over, and it is tried again. */
export function createThrottledTask(everyMs: number, work: () => Promise<boolean>): ThrottledTask {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let again = false
  let stopped = false
  let nextAt = 0
  const run = async () => {
    again = false
    let pauseMs = everyMs
    try {
      again = (await work()) || again
    } catch {
      again = true
      pauseMs = RETRY_MS
    }
    nextAt = performance.now() + pauseMs
    running = undefined
    if (again) schedule()
  }
  const schedule = () => {
    if (stopped || timer !== undefined) return
    timer = setTimeout(
      () => {
        timer = undefined
        running = run()
      },
      Math.max(0, nextAt - performance.now()),
    ).unref()
  }
  return {
    wake() {
      if (running === undefined) schedule()
      else again = true
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}
