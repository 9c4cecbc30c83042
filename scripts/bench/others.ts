/** What the service is compared with: the peer, installed on demand, and the service as it was at an earlier commit. Both in the temporary folder. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { runProgram, type Server, startServer, type Words } from './children.ts'

const PEER = 'emulate@0.12.2'
const root = join(import.meta.dirname, '..', '..')

/** Installs the peer and starts it. */
export async function startPeer(folder: string): Promise<Server> {
  const place = join(folder, 'peer')
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'package.json'), '{"private":true}')
  await runProgram('npm', ['install', '--prefix', place, '--no-audit', '--no-fund', '--loglevel=error', PEER])
  const module = join(place, 'node_modules', 'emulate', 'dist', 'api.js')
  const words = { settings: {}, flags: [], parameters: [pathToFileURL(module).href] }
  return startServer('scripts/bench/peer.ts', process.env, { channel: 'ipc', words })
}

/** The service of an earlier commit: where it is, and how its `npm start` starts it. `remove` takes its work tree away. */
export type Earlier = { script: string; words: Words; remove: () => void }

/** Checks an earlier commit out, with an install of its own. */
export async function checkOut(commit: string, folder: string): Promise<Earlier> {
  const place = join(folder, 'before')
  await runProgram('git', ['-C', root, 'worktree', 'add', '--detach', place, commit])
  const remove = () => void spawnSync('git', ['-C', root, 'worktree', 'remove', '--force', place])
  await runProgram('npm', ['ci', '--prefix', place, '--no-audit', '--no-fund', '--loglevel=error'])
  return { script: join(place, 'bin', 'berth.mjs'), words: wordsOf(place), remove }
}

/** What `npm start` sets: in a file, and in commits from before that file in the command itself. */
function wordsOf(place: string): Words {
  const file = join(place, 'scripts', 'runtime.json')
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'))
  const { scripts } = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as { scripts: { start: string } }
  const words = scripts.start.split(' ')
  return {
    settings: Object.fromEntries(words.filter((word) => /^[A-Z_]+=/.test(word)).map((word) => word.split('='))),
    flags: words.filter((word) => word.startsWith('--')),
  }
}
