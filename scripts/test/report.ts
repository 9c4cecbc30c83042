/**
 * What a run of the tests prints: as node's own `spec`. Before the counts stand the files that took longer than they may, and why
 * a process ended badly, which node counts as a failed test without a word.
 */
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { spec as Spec } from 'node:test/reporters'
import { LEFT_TO_CI } from '../../test/support/stores/engines.ts'
import { BUDGET_S, QUEUE, readEnd, tookOf, unendedOf } from './queue.ts'

type Event = {
  type: string
  data: {
    nesting: number
    skip?: string | boolean
    message?: string
    name?: string
    details?: { error?: { exitCode?: number | null; signal?: string | null } }
  }
}

export default async function* report(source: AsyncIterable<Event>): AsyncGenerator<string> {
  yield* Readable.from(withSlow(source)).pipe(new Spec())
}

/** What node's reporter prints, in the order in which tests are written. */
const TOLD = /^test:(?:start|pass|fail|diagnostic|stdout|stderr|summary)$/

async function* withSlow(source: AsyncIterable<Event>): AsyncGenerator<unknown> {
  let counted = false
  const bad: string[] = []
  let left = 0
  /** A test that has begun, of which it is not known yet whether it is skipped. */
  let begun: Event | undefined
  for await (const event of source) {
    const { nesting, message = '', name = '', details, skip } = event.data
    if (skip === LEFT_TO_CI && event.type === 'test:pass') {
      left++
      begun = undefined
      continue
    }
    if (begun !== undefined && TOLD.test(event.type)) {
      yield begun
      begun = undefined
    }
    if (event.type === 'test:start') {
      begun = event
      continue
    }
    if (event.type === 'test:fail' && nesting === 0 && details?.error?.exitCode !== undefined)
      bad.push(whyItEnded(basename(name), details.error))
    if (!counted && event.type === 'test:diagnostic' && nesting === 0 && message.startsWith('tests ')) {
      counted = true
      yield { type: 'test:stdout', data: { nesting: 0, message: bad.join('') + slowFiles() + leftToCi(left) } }
    }
    yield event
  }
}

/** Why a process ended badly: its code or signal, what set it, the errors that no test awaited, and the files that ran. */
function whyItEnded(
  worker: string,
  { exitCode, signal }: { exitCode?: number | null; signal?: string | null },
): string {
  const folder = process.env[QUEUE]!
  const end = readEnd(folder, worker)
  const lines = (end?.errors ?? []).map(({ file, error }) => `no test awaited this error, while ${file} ran: ${error}`)
  lines.push(...(end?.because ?? []))
  const unended = unendedOf(folder, worker)
  if (unended.length > 0) lines.push(`it was in the midst of ${unended.join(', ')}`)
  if (end !== undefined && lines.length === 0) lines.push(`the last file that it ran was ${end.file}`)
  const how = signal == null ? `ended with ${exitCode}` : `was ended by ${signal}`
  return `\n${worker} ${how}, which is no failure of one test:\n${lines.map((line) => `${line.replace(/^/gm, '  ')}\n`).join('')}`
}

function leftToCi(count: number): string {
  if (count === 0) return ''
  return `\n${count} tests were skipped on PostgreSQL alone: they run where their file is named, in npm run check -- --full and in .ci/run\n`
}

function slowFiles(): string {
  const slow = tookOf(process.env[QUEUE]!).filter(
    ({ file, seconds }) => seconds > BUDGET_S && !/\.long\.test\./.test(file),
  )
  if (slow.length === 0) return ''
  const lines = slow.map(({ file, seconds }) => `  ${seconds.toFixed(1).padStart(6)} s  ${file}\n`)
  return `\nlonger than ${BUDGET_S} s, the budget of a file on a machine that does nothing else (docs/testing.md):\n${lines.join('')}`
}
