/** The blocks of docs/developing.md that say which lines a new endpoint takes, and where they go. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../support/root.ts'

const page = readFileSync(join(root, 'docs', 'developing.md'), 'utf8')

/** In order: the language of a block, the file that it names (or why it is not run), and its text. */
export const blocks = [...page.matchAll(/^```(\w+) ([^\n]*)\n(.*?)^```$/gms)].map(([, kind, place, text]) => ({
  kind: kind!,
  place: place!,
  text: text!,
}))

/** A text with the lines that a block of `diff` adds to it. The other lines of the block must stand there together, and once. */
export function withAdded(before: string, block: string, file: string): string {
  const lines = block.replace(/\n$/, '').split('\n')
  const known = lines.filter((line) => line.startsWith(' ')).map((line) => line.slice(1))
  const after = lines.map((line) => line.slice(1))
  assert.ok(lines.every((line) => /^[ +]/.test(line)) && known.length > 0 && known.length < lines.length, block)
  const parts = `\n${before}`.split(`\n${known.join('\n')}\n`)
  const times = parts.length - 1
  assert.equal(times, 1, `the lines that docs/developing.md names stand ${times} times in ${file}:\n${block}`)
  return parts.join(`\n${after.join('\n')}\n`).slice(1)
}
