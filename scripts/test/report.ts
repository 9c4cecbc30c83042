/**
 * What a run of the tests prints: as node's own `spec`. Before the counts stand the files that took longer than they should, how many tests
 * are left to `npm run verify`, and why a process ended badly, which node counts as a failed test without a word. What came of each file is
 * kept for the second try.
 */
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { spec as Spec } from 'node:test/reporters'
import { LEFT_TO_VERIFY } from '../../test/support/stores/engines.ts'
import { keepOutcome, type Outcome } from './outcome.ts'
import { BUDGET_S, filesOfQueue, QUEUE, readEnd, tookOf, unendedOf } from './queue.ts'

type Event = {
  type: string
  data: {
    nesting: number
    skip?: string | boolean
    message?: string
    name?: string
    details?: { type?: string; error?: { exitCode?: number | null; signal?: string | null } }
  }
}

export default async function* report(source: AsyncIterable<Event>): AsyncGenerator<string> {
  yield* Readable.from(withMore(source)).pipe(new Spec())
}

/** What node's reporter prints, in the order in which tests are written. */
const TOLD = /^test:(?:start|pass|fail|diagnostic|stdout|stderr|summary)$/

async function* withMore(source: AsyncIterable<Event>): AsyncGenerator<unknown> {
  const folder = process.env[QUEUE]!
  const files = new Set(filesOfQueue(folder))
  const outcome: Outcome = {}
  const bad: string[] = []
  let counted = false
  let left = 0
  let inFile = noTests()
  /** A started test that may still be skipped. */
  let begun: Event | undefined
  for await (const event of source) {
    const { nesting, message = '', name = '', details, skip } = event.data
    const isEnd = event.type === 'test:pass' || event.type === 'test:fail'
    if (isEnd && details?.type !== 'suite') {
      if (skip !== undefined && skip !== false) inFile.skipped++
      else if (event.type === 'test:pass') inFile.passed++
      else if (details?.error?.exitCode === undefined) inFile.failed.push(name)
    }
    if (isEnd && nesting === 0 && files.has(name)) {
      if (event.type === 'test:fail' && inFile.failed.length === 0) inFile.failed.push('the file itself')
      outcome[name] = { isWhole: true, ...inFile }
      inFile = noTests()
    }
    if (event.type === 'test:pass' && skip === LEFT_TO_VERIFY) {
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
    if (event.type === 'test:fail' && nesting === 0 && details?.error?.exitCode !== undefined) {
      // An interrupted file reports no end: later events are of another process.
      inFile = noTests()
      bad.push(whyItEnded(basename(name), details.error, outcome))
    }
    if (!counted && event.type === 'test:diagnostic' && nesting === 0 && message.startsWith('tests ')) {
      counted = true
      yield { type: 'test:stdout', data: { nesting: 0, message: bad.join('') + slowFiles() + leftOut(left) } }
    }
    yield event
  }
  keepOutcome(folder, outcome)
}

function noTests(): { passed: number; skipped: number; failed: string[] } {
  return { passed: 0, skipped: 0, failed: [] }
}

/** Why a process ended badly: its code or signal, what set it, the errors that no test awaited, and the files that ran. Those failed. */
function whyItEnded(
  worker: string,
  { exitCode, signal }: { exitCode?: number | null; signal?: string | null },
  outcome: Outcome,
): string {
  const folder = process.env[QUEUE]!
  const end = readEnd(folder, worker)
  const lines = (end?.errors ?? []).map(({ file, error }) => `no test awaited this error, while ${file} ran: ${error}`)
  lines.push(...(end?.because ?? []))
  const unended = unendedOf(folder, worker)
  if (unended.length > 0) lines.push(`it was in the midst of ${unended.join(', ')}`)
  if (end !== undefined && lines.length === 0) lines.push(`the last file that it ran was ${end.file}`)
  const how = signal == null ? `ended with ${exitCode}` : `was ended by ${signal}`
  const named = [...unended, ...(end?.errors ?? []).map(({ file }) => file)]
  for (const file of named.length > 0 ? named : [end?.file ?? ''])
    outcome[file] = { passed: 0, skipped: 0, isWhole: false, ...outcome[file], failed: [`its process ${how}`] }
  return `\n${worker} ${how}, which is not a failure of one test:\n${lines.map((line) => `${line.replace(/^/gm, '  ')}\n`).join('')}`
}

function leftOut(count: number): string {
  return count === 0
    ? ''
    : `\n${count} tests run on SQLite alone here, and on PostgreSQL too in npm run verify (docs/testing.md)\n`
}

function slowFiles(): string {
  const slow = tookOf(process.env[QUEUE]!).filter(
    ({ file, seconds }) => seconds > BUDGET_S && !/\.long\.test\./.test(file),
  )
  if (slow.length === 0) return ''
  const lines = slow.map(({ file, seconds }) => `  ${seconds.toFixed(1).padStart(6)} s  ${file}\n`)
  return `\nlonger than ${BUDGET_S} s, the budget of a file on a machine that does nothing else (docs/testing.md):\n${lines.join('')}`
}
