// Runs before every npm script, on whatever Node the machine has: installs what the lock file names, and only what is missing or of
// another version. `--omit=dev`: what the service needs; the rest may be there. It must stay plain JavaScript without dependencies.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RUNTIME } from '../bin/runtime.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const isWindows = process.platform === 'win32'
const isProduction = process.argv.includes('--omit=dev')

if (!existsSync(RUNTIME) || lacking().length > 0) {
  // `npm ci` begins by taking everything away, also from under a service that runs: it is for the first time only.
  const words = existsSync(join(root, 'node_modules')) ? ['install', '--no-save'] : ['ci']
  if (isProduction) words.push('--omit=dev')
  console.error(`berth: installing dependencies (npm ${words.join(' ')})`)
  const npm = spawnSync('npm', [...words, '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    // What the command itself says is alone on stdout.
    stdio: ['inherit', 2, 2],
    shell: isWindows,
  })
  if (npm.status !== 0) {
    console.error(`berth: npm ${words[0]} failed; is the npm registry reachable?`)
    process.exit(npm.status ?? 1)
  }
  // npm passes over a package that it may leave out, also when its content has not the hash of the lock file.
  if (!existsSync(RUNTIME)) {
    console.error(
      `berth: npm did not install the runtime for ${process.platform}-${process.arch}: no package exists for it, or the one from the registry does not have the SHA-512 of package-lock.json (see the log of npm)`,
    )
    process.exit(1)
  }
  const left = lacking()
  if (left.length > 0) {
    console.error(`berth: npm did not install ${left.slice(0, 5).join(', ')}: remove node_modules and try again`)
    process.exit(1)
  }
}

// bin/berth.mjs asks here whenever the lock file is newer than npm's list, which npm leaves as it is where nothing was missing.
try {
  utimesSync(join(root, 'node_modules', '.package-lock.json'), new Date(), new Date())
} catch {
  // A folder that this user may only read is looked at again by the next start.
}

// `npm start` begins with the shell's word for "become", which Windows lacks: there it runs what follows.
const become = join(root, 'node_modules', '.bin', 'exec.cmd')
if (isWindows && !existsSync(become)) writeFileSync(become, '@%*\r\n')

/** The packages of the lock file that npm's own list of what it installed lacks, or has with another content. */
function lacking() {
  const installed = packagesOf(join(root, 'node_modules', '.package-lock.json'))
  return (
    Object.entries(packagesOf(join(root, 'package-lock.json')))
      .filter(([name, { dev }]) => name !== '' && !(dev && isProduction))
      // What is optional may be for other machines.
      .filter(([name, { optional, devOptional }]) => installed[name] || !(optional || devOptional))
      .filter(([name, { integrity }]) => installed[name]?.integrity !== integrity)
      .map(([name]) => name)
  )
}

function packagesOf(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : {}
}
