/** A progress bar on stderr, only on a terminal, so that pipes and logs do not contain it. */
import type { Writable } from 'node:stream'
import type { ProgressBar } from './command.ts'

const WIDTH = 30
const PERIOD_MS = 100

/** Creates a progress bar. It shows nothing where `out` is not a terminal. */
export function createProgressBar(out: Writable & { isTTY?: boolean }): ProgressBar {
  if (!out.isTTY) return { show() {}, end() {} }
  let drawn = 0
  let line = ''
  return {
    show(part, done, total) {
      const now = Date.now()
      if (now - drawn < PERIOD_MS && done < total) return
      drawn = now
      const share = total === 0 ? 1 : Math.min(1, done / total)
      const full = Math.round(share * WIDTH)
      line = `${part.padEnd(9)} [${'#'.repeat(full)}${' '.repeat(WIDTH - full)}] ${Math.floor(share * 100)} %`
      out.write(`\r${line}\x1b[K`)
    },
    end() {
      if (line !== '') out.write('\r\x1b[K')
      line = ''
    },
  }
}
