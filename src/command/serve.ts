/** `berth serve`, when it was typed in a way that needed the table; main.ts starts the plain one without. */
import type { Given } from '../command-line/command.ts'

export async function serveCommand({ settings }: Given): Promise<undefined> {
  const config = settings()
  await (await import('../start.ts')).start(config)
}
