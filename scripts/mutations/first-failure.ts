/** A reporter that sends each failing test to the parent process, and prints nothing. Used by scripts/mutations/lane.ts. */
import type { Word } from './tests-of-mutant.ts'

type Event = { type: string; data: { name: string; file?: string; todo?: unknown } }

// biome-ignore lint/correctness/useYield: a reporter is a generator, also one that prints nothing
export default async function* firstFailure(source: AsyncIterable<Event>): AsyncGenerator<string> {
  for await (const { type, data } of source) {
    const said: Word = { fails: data.name, file: data.file ?? '' }
    if (type === 'test:fail' && !data.todo) process.send?.(said)
  }
}
