/** Installs a third-party client outside Berth's dependencies. Used by test-clients.ts and test-smoke.ts. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from './clients.ts'

/**
 * Installs it into `<cache>/<name>`, unless that version is there; scripts of packages do not run. `longestMs`: npm is ended then.
 * Throws where npm cannot install it.
 */
export function installClient(
  cache: string,
  { name, package: wanted, version, overrides }: Client,
  longestMs?: number,
) {
  const folder = join(cache, name)
  const mark = join(folder, 'installed')
  if (existsSync(mark)) return
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ private: true, dependencies: { [wanted]: version }, overrides }),
  )
  console.log(`installing ${wanted}@${version}`)
  const words = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--no-package-lock']
  const npm = spawnSync('npm', words, { cwd: folder, stdio: 'inherit', timeout: longestMs })
  if (npm.status !== 0) throw new Error(`npm could not install ${wanted}@${version}`)
  writeFileSync(mark, '')
}
