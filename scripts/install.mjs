// Runs before every npm script, on whatever Node the machine has: installs what the lock file names, and only when
// something is missing or older than the lock file. It must stay plain JavaScript without dependencies.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RUNTIME } from '../bin/runtime.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const installed = join(root, 'node_modules', '.package-lock.json')
const wanted = join(root, 'package-lock.json')

const fresh = existsSync(installed) && existsSync(RUNTIME) && statSync(installed).mtimeMs >= statSync(wanted).mtimeMs
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
  // npm passes over a package that it may leave out, also when its content has not the hash of the lock file.
  if (!existsSync(RUNTIME)) {
    console.error(
      `berth: npm did not install the runtime for ${process.platform}-${process.arch}: there is none, or what the registry gave has not the SHA-512 of package-lock.json (see the log of npm)`,
    )
    process.exit(1)
  }
}
