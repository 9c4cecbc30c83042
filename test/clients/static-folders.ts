/** A static build of another project, built by the newest CLI. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { programOf } from './cli-world.ts'
import { MARKED } from './outside/folders.ts'

/** For a build that hangs. */
const LONGEST_MS = 900_000

/** Builds a folder by `vercel build`, which installs what it needs from npm. Gives the last lines of what it said; undefined where it worked. */
export async function buildFolder(folder: string, home: string): Promise<string | undefined> {
  const words = [programOf('64.0.2'), 'build', '--yes', '--token', 'none', '--cwd', folder]
  const env = {
    ...process.env,
    HOME: home,
    npm_config_userconfig: join(homedir(), '.npmrc'),
    VERCEL_TELEMETRY_DISABLED: '1',
    NO_UPDATE_NOTIFIER: '1',
    NO_COLOR: '1',
    CI: '1',
    // As a builder says them: some builds hand them on under names of their framework.
    VERCEL_ENV: 'preview',
    VERCEL_URL: 'site.example.net',
    RANDOMNESS_BUILD_ENV_VAR: MARKED,
  }
  const child = spawn(process.execPath, words, {
    env,
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LONGEST_MS,
    killSignal: 'SIGKILL',
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      said += chunk
    })
  }
  const [code, signal] = await once(child, 'close')
  return code === 0 ? undefined : `${signal ?? code}: ${said.trim().split('\n').slice(-5).join('\n')}`
}
