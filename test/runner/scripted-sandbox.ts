/** A sandbox of a test: it runs nothing, and does what its script says. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { Policy } from '../../src/sandbox/policy.ts'
import type { Exit, Sandbox } from '../../src/sandbox/sandbox.ts'

/** `exit` undefined: it runs until it is destroyed. `files`: written below the source directory when it starts. */
export type Script = {
  output?: string
  files?: Record<string, string>
  exit?: Exit
  pid?: number
  failsIn?: 'prepare' | 'start' | 'wait' | 'destroy'
}

/** `npmSettings`: what is in `~/.npmrc` when it starts. */
export type ScriptedSandbox = Sandbox & {
  policy: Policy | undefined
  npmSettings: string
  destroys: number
  isDestroyed: Promise<number>
}

/** The smallest output of a builder. */
export const OUTPUT = {
  '.vercel/output/config.json': '{"version":3}',
  '.vercel/output/static/index.html': '<h1>built</h1>',
}

export function createScriptedSandbox({ output = '', files = OUTPUT, exit, pid, failsIn }: Script): ScriptedSandbox {
  let directory: string | undefined
  const stream = new PassThrough()
  const ended = Promise.withResolvers<Exit>()
  const destroyed = Promise.withResolvers<number>()
  const fail = (step: Script['failsIn']) => {
    if (failsIn === step) throw Object.assign(new Error(`EIO of ${step} in /secret/place`), { code: 'EIO' })
  }
  const end = (one: Exit) => {
    ended.resolve(one)
    stream.end()
  }
  const sandbox: ScriptedSandbox = {
    ...{ policy: undefined, npmSettings: '', destroys: 0, isDestroyed: destroyed.promise },
    async prepare() {
      fail('prepare')
      directory = mkdtempSync(join(tmpdir(), 'berth-runner-'))
      mkdirSync(join(directory, 'work'))
      return { workDirectory: join(directory, 'work'), insideWork: '/work' }
    },
    inside: (path) => `/host${path}`,
    mounted: (_: string, path: string) => path,
    start(policy) {
      fail('start')
      sandbox.policy = policy
      sandbox.npmSettings = readFileSync(join(policy.workDirectory!, 'home/.npmrc'), 'utf8')
      for (const [path, text] of Object.entries(files)) {
        const place = join(policy.workDirectory!, 'source', path)
        mkdirSync(dirname(place), { recursive: true })
        writeFileSync(place, text)
      }
      stream.write(output)
      if (exit !== undefined) end(exit)
    },
    output: () => stream,
    pid: () => pid,
    async wait() {
      fail('wait')
      return ended.promise
    },
    async destroy() {
      sandbox.destroys++
      destroyed.resolve(performance.now())
      end({ code: null, signal: 'SIGKILL' })
      if (directory !== undefined) rmSync(directory, { recursive: true, force: true })
      fail('destroy')
    },
  }
  return sandbox
}
