/** Runs `berth` as a user types it: its arguments, output and exit status. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { runCommand } from '../../../src/cli/command/run.ts'
import { root } from '../root.ts'

const entry = join(root, 'bin', 'berth.mjs')

export type CommandExit = { code: number; out: string; err: string }

/** A command within this process, which spares a start of the program. What the program adds to it is tested with `berthProcess`. */
export async function berth(words: string[], env: Record<string, string> = {}, input = ''): Promise<CommandExit> {
  if (input !== '') return berthProcess(words, env, input)
  const [stdout, stderr] = [collect(), collect()]
  const umask = process.umask()
  try {
    const code = await runCommand(
      words,
      { PATH: process.env.PATH, ...env },
      { stdout: stdout.stream, stderr: stderr.stream },
    )
    if (code === undefined) throw new Error(`berth ${words.join(' ')} goes on: start it as a process`)
    return { code, out: stdout.text(), err: stderr.text() }
  } finally {
    process.umask(umask)
  }
}

/** The real program, to its end. `input` is its stdin. Nothing of this process's own settings reaches it. */
export function berthProcess(words: string[], env: Record<string, string> = {}, input = ''): Promise<CommandExit> {
  return new Promise((resolve) => {
    const options = { env: { PATH: process.env.PATH, ...env }, maxBuffer: 64 * 1024 * 1024 }
    const child = execFile(process.execPath, [entry, ...words], options, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    )
    child.stdin?.end(input)
  })
}

function collect(): { stream: Writable; text(): string } {
  const pieces: Buffer[] = []
  const stream = new Writable({
    write(piece: Buffer, _, done) {
      pieces.push(piece)
      done()
    },
  })
  return { stream, text: () => Buffer.concat(pieces).toString() }
}
