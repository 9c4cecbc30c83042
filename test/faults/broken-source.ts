/** The service without a piece of its source, to show that a check finds that. No setting reaches this. */
import { registerHooks } from 'node:module'
import { readConfig } from '../../src/config.ts'

/** Starts the service with another piece in the place of one in a source, which must be there. `file`: from `src/`. */
export async function startBroken(file: string, piece: string, other: string): Promise<void> {
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      if (!url.endsWith(`/src/${file}`)) return loaded
      const text = Buffer.from(loaded.source as Uint8Array).toString()
      if (!text.includes(piece)) throw new Error(`src/${file} has no "${piece}"`)
      return { ...loaded, source: text.replaceAll(piece, other) }
    },
  })
  const { start } = await import('../../src/processes/start.ts')
  await start(readConfig(process.env), process.env)
}
