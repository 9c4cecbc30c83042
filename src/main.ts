/** `berth`: settings -> service -> listening, until SIGTERM or SIGINT. Exit codes: settings.md. */
import { BadSetting, readConfig } from './config.ts'
import { start } from './start.ts'

try {
  await start(readConfig(process.env))
} catch (error) {
  const bad = error instanceof BadSetting
  process.stderr.write(`berth: ${bad || error instanceof Error ? error.message : String(error)}\n`)
  if (!bad && error instanceof Error && error.cause) process.stderr.write(`  because: ${error.cause}\n`)
  process.exit(bad ? 78 : 1)
}
