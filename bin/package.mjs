#!/usr/bin/env node
// `berth` of the npm package, where it is bin/berth.mjs next to one file with the whole program (scripts/release/package.ts).
import module from 'node:module'
import { fileURLToPath } from 'node:url'
import { compileCacheIn } from './compile-cache.mjs'
import { stopWithShell } from './stop-with-shell.mjs'

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 24 || (major === 24 && minor < 15)) {
  console.error(
    `berth: this is Node.js ${process.versions.node}, and the package needs 24.15 or newer; the executable of a release needs none`,
  )
  process.exit(1)
}
stopWithShell()
const folder = compileCacheIn([fileURLToPath(new URL('..', import.meta.url)), process.env.BERTH_DATA || './data'])
if (folder !== undefined) module.enableCompileCache(folder)
const { main } = await import('../berth.mjs')
await main()
