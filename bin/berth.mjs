#!/usr/bin/env node
// The entry is plain JavaScript on purpose: with the compile cache on before the first TypeScript file is met, an existing
// install starts from what was stripped before, and never loads the type stripper (16 MB).
import { existsSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { compileCacheIn } from './compile-cache.mjs'
import { passSignals } from './pass-signals.mjs'
import { RUNTIME } from './runtime.mjs'
import { stopWithShell } from './stop-with-shell.mjs'

const [major, minor] = process.versions.node.split('.').map(Number)
const isOld = major < 24 || (major === 24 && minor < 15)

// `npx berth` comes here with whatever Node the machine has, and perhaps before anything was installed. After an upgrade the lock file is
// newer than npm's list of what it installed, and they may never have been compared: npm leaves out `prestart` where `ignore-scripts` is set.
if (!existsSync(RUNTIME) || isStale()) {
  const { spawnSync } = await import('node:child_process')
  const install = fileURLToPath(new URL('../scripts/install.mjs', import.meta.url))
  const { status } = spawnSync(process.execPath, [install, '--omit=dev'], { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
stopWithShell()
if (isOld) {
  const { spawn } = await import('node:child_process')
  const child = spawn(RUNTIME, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  passSignals(child)
} else {
  const { enableCompileCache } = await import('node:module')
  const modules = fileURLToPath(new URL('../node_modules', import.meta.url))
  const folder = compileCacheIn([modules, process.env.BERTH_DATA || './data'])
  if (folder !== undefined) enableCompileCache(folder)
  const { main } = await import('../src/main.ts')
  await main()
}

/** A package of npm has no lock file, and an image has what was put into it. */
function isStale() {
  const [wanted, installed] = ['../package-lock.json', '../node_modules/.package-lock.json'].map(
    (file) => statSync(new URL(file, import.meta.url), { throwIfNoEntry: false })?.mtimeMs,
  )
  return wanted !== undefined && installed !== undefined && wanted > installed
}
