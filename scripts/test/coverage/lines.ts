/** V8's counts of functions and blocks -> the lines that ran. */
import type { Profiler } from 'node:inspector'

/** Numbers of lines from 1, ascending. */
export type Lines = readonly number[]

/**
 * The lines of `text` that ran at least in part. What a function does beyond its own call is in its inner ranges: a range lies over the ranges
 * around it. `withModule`: the code outside functions counts too; it runs once in a process, whatever the tests do.
 */
export function linesOf(text: string, functions: readonly Profiler.FunctionCoverage[], withModule: boolean): number[] {
  const ran = new Uint8Array(text.length)
  const ranges = functions
    .filter(({ ranges }) => withModule || !isModule(ranges[0]!, text))
    .flatMap(({ ranges }) => ranges)
    // The outer before the inner.
    .toSorted((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset)
  for (const { startOffset, endOffset, count } of ranges) ran.fill(count > 0 ? 1 : 0, startOffset, endOffset)
  const lines: number[] = []
  let start = 0
  for (const [at, line] of text.split('\n').entries()) {
    const indent = line.length - line.trimStart().length
    if (ran.subarray(start + indent, start + line.trimEnd().length).includes(1)) lines.push(at + 1)
    start += line.length + 1
  }
  return lines
}

/** `1-3,7` of 1, 2, 3 and 7. */
export function packLines(lines: Iterable<number>): string {
  const runs: [number, number][] = []
  for (const line of [...lines].toSorted((a, b) => a - b)) {
    const last = runs.at(-1)
    if (last !== undefined && line <= last[1] + 1) last[1] = line
    else runs.push([line, line])
  }
  return runs.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',')
}

/** What `packLines` packed. */
export function unpackLines(packed: string): number[] {
  if (packed === '') return []
  return packed.split(',').flatMap((run) => {
    const [from, to = from] = run.split('-').map(Number) as [number, number?]
    return Array.from({ length: to! - from + 1 }, (_, at) => from + at)
  })
}

function isModule({ startOffset, endOffset }: Profiler.CoverageRange, text: string): boolean {
  return startOffset === 0 && endOffset >= text.trimEnd().length
}
