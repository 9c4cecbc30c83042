import { isatty } from 'node:tty'

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP']

/**
 * Passes signals on to a child that does the work of this process, and ends as it does. A terminal sends Ctrl-C to both, and a runner ends its builds at
 * a second signal: docs/runner.md: Stop.
 */
export function passSignals(
  child,
  { process: own = process, hasTerminal = [0, 1, 2].some((file) => isatty(file)) } = {},
) {
  for (const signal of SIGNALS)
    own.on(signal, () => {
      if (signal !== 'SIGINT' || !hasTerminal) child.kill(signal)
    })
  child.on('exit', (code, signal) => own.exit(code ?? (signal === null ? 1 : 128)))
}
