// Runs before every npm script, on whatever Node the machine has: installs what the lock file names, and only when
// something is missing or older than the lock file. It must stay plain JavaScript without dependencies.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const installed = join(root, 'node_modules', '.package-lock.json')
const runtime = join(root, 'node_modules', 'node', 'bin', 'node')
const wanted = join(root, 'package-lock.json')

const fresh = existsSync(installed) && existsSync(runtime) && statSync(installed).mtimeMs >= statSync(wanted).mtimeMs
if (!fresh) {
  console.error('berth: installing dependencies (npm ci)')
  const npm = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    // What the command itself says is alone on stdout.
    stdio: ['inherit', 2, 2],
  })
  if (npm.status !== 0) {
    console.error('berth: npm ci failed; is the npm registry reachable?')
    process.exit(npm.status ?? 1)
  }
}
