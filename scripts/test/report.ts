/** What a run of the tests prints: as node's own `spec`, with the files that took longer than they may before the counts. */
import { Readable } from 'node:stream'
import { spec as Spec } from 'node:test/reporters'
import { BUDGET_S, QUEUE, tookOf } from './queue.ts'

type Event = { type: string; data: { nesting: number; message?: string } }

export default async function* report(source: AsyncIterable<Event>): AsyncGenerator<string> {
  yield* Readable.from(withSlow(source)).pipe(new Spec())
}

async function* withSlow(source: AsyncIterable<Event>): AsyncGenerator<unknown> {
  let counted = false
  for await (const event of source) {
    const { nesting, message = '' } = event.data
    if (!counted && event.type === 'test:diagnostic' && nesting === 0 && message.startsWith('tests ')) {
      counted = true
      yield { type: 'test:stdout', data: { nesting: 0, message: slowFiles() } }
    }
    yield event
  }
}

function slowFiles(): string {
  const slow = tookOf(process.env[QUEUE]!).filter(
    ({ file, seconds }) => seconds > BUDGET_S && !/\.long\.test\./.test(file),
  )
  if (slow.length === 0) return ''
  const lines = slow.map(({ file, seconds }) => `  ${seconds.toFixed(1).padStart(6)} s  ${file}\n`)
  return `\nlonger than ${BUDGET_S} s, the budget of a file on a machine that does nothing else (docs/testing.md):\n${lines.join('')}`
}
