/** `berth serve`, when it was typed in a way that needed the table; main.ts starts the plain one without. */
import type { Invocation } from '../command-line/command.ts'

export async function serveCommand({ settings }: Invocation): Promise<undefined> {
  const config = settings()
  await (await import('../start.ts')).start(config)
}
