/** Berth without a piece of its source, to show that a check finds that. No setting reaches this. */
import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { root } from '../support/root.ts'

/** Puts another piece in the place of one in a source that is loaded from now on, which must be there. `file`: from `src/`. */
export function breakSource(file: string, piece: string, other: string): void {
  const path = join(root, 'src', file)
  if (!existsSync(path)) throw new Error(`${path} is not there`)
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      if (!url.endsWith(`/src/${file}`)) return loaded
      const text = Buffer.from(loaded.source as Uint8Array).toString()
      if (!text.includes(piece)) throw new Error(`src/${file} has no "${piece}"`)
      return { ...loaded, source: text.replaceAll(piece, other) }
    },
  })
}

/** Starts the service with another piece, as `breakSource` puts it. */
export async function startBroken(file: string, piece: string, other: string): Promise<void> {
  breakSource(file, piece, other)
  const { start } = await import('../../src/processes/start.ts')
  await start(readConfig(process.env), process.env)
}
