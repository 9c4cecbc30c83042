// `npm start`: bin/berth.mjs under the settings and flags of runtime.json (docs/decisions/0039), which a process only takes when it
// starts. It becomes that process, so that signals reach it. Windows has no such thing: there it waits for a child.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { passSignals } from '../bin/pass-signals.mjs'

const { settings, flags } = JSON.parse(readFileSync(new URL('runtime.json', import.meta.url), 'utf8'))
const program = fileURLToPath(new URL('../bin/berth.mjs', import.meta.url))
const words = [...flags, program, ...process.argv.slice(2)]
const env = { ...process.env, ...settings }

if (process.execve && process.platform !== 'win32') process.execve(process.execPath, [process.execPath, ...words], env)
const child = spawn(process.execPath, words, { env, stdio: 'inherit' })
passSignals(child)
