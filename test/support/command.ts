/** `berth` as somebody types it: the real program, its words, what it said and how it ended. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { root } from './root.ts'

const entry = join(root, 'bin', 'berth.mjs')

export type Ended = { code: number; out: string; err: string }

/** Runs to the end. `input` is its stdin. Nothing of this process's own settings reaches it. */
export function berth(words: string[], env: Record<string, string> = {}, input = ''): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { env: { PATH: process.env.PATH, ...env }, maxBuffer: 64 * 1024 * 1024 }
    const child = execFile(process.execPath, [entry, ...words], options, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    )
    child.stdin?.end(input)
  })
}
