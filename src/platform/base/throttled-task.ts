/** Background work that runs soon after a wake-up and at most once per interval, so that wake-ups in between share a run. */

const RETRY_MS = 1000

export type ThrottledTask = {
  wake(): void
  /** Resolves when the running work has ended. No new run starts. */
  stop(): Promise<void>
}

/** `work` returns whether there is more to do. If it throws, it is retried. */
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
