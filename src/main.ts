/** `berth`: settings -> service -> listening, until SIGTERM or SIGINT. Exit codes: settings.md. */
import { enableCompileCache } from 'node:module'

// Types are stripped once and kept: an existing install starts in half the time.
enableCompileCache()
const { BadSetting, readConfig } = await import('./config.ts')
const { start } = await import('./start.ts')

try {
  await start(readConfig(process.env))
} catch (error) {
  const bad = error instanceof BadSetting
  process.stderr.write(`berth: ${bad || error instanceof Error ? error.message : String(error)}\n`)
  if (!bad && error instanceof Error && error.cause) process.stderr.write(`  because: ${error.cause}\n`)
  process.exit(bad ? 78 : 1)
}
