/** `berth`: words and settings -> what they ask for. Exit codes: settings.md; 64 for words that say nothing. */
import { askService, BadUsage, requestOf } from './command.ts'
import { BadSetting, readConfig } from './config.ts'

try {
  const request = requestOf(process.argv.slice(2))
  const config = readConfig(process.env)
  if (request !== undefined) process.stdout.write(`${await askService(config, request)}\n`)
  else await (await import('./start.ts')).start(config)
} catch (error) {
  process.stderr.write(`berth: ${error instanceof Error ? error.message : String(error)}\n`)
  const code = error instanceof BadSetting ? 78 : error instanceof BadUsage ? 64 : 1
  if (code === 1 && error instanceof Error && error.cause) process.stderr.write(`  because: ${error.cause}\n`)
  process.exit(code)
}
