/**
 * `npm run dev`: the service on http://127.0.0.1:3000 with example data, started again whenever a source file changes. Its store is
 * `.cache/dev`, unless BERTH_DATA says another; every setting of Berth works here too.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { addressOf, DEV_FOLDER, seed } from './seed/examples.ts'

const root = join(import.meta.dirname, '..')
const env = { ...process.env, BERTH_DATA: process.env.BERTH_DATA ?? DEV_FOLDER }
const words = ['--watch', '--watch-preserve-output', join(root, 'bin', 'berth.mjs')]
const child = spawn(process.execPath, words, { cwd: root, env, stdio: 'inherit' })
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => child.kill(signal))

seed({ folder: env.BERTH_DATA, address: addressOf(env) }).then(
  (said) => console.log(`npm run dev: ${said}`),
  (error) => console.error(`npm run dev: no example data: ${error.message}`),
)
const [code] = await once(child, 'exit')
process.exit(code ?? 0)
