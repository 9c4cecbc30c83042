/** Resolves as `work` does, or with `late` after this time. Late work goes on. */
export function withTimeLimit<T, L>(work: Promise<T>, ms: number, late: L): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<L>((resolve) => {
    timer = setTimeout(resolve, ms, late)
  })
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer))
}
