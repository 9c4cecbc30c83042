/** Every regular expression of src takes time in proportion to its text, also where an unauthenticated client sends it. docs/style.md. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseAst } from 'rolldown/parseAst'
import { analyse } from 'scslre'
import { root } from '../support/root.ts'

type Pattern = { pattern: string; flags: string }

/** The expressions of a source: literals, and the texts of `pattern` in schemas. */
function* patternsIn(node: unknown): Generator<Pattern> {
  if (typeof node !== 'object' || node === null) return
  const { type, regex, key, value } = node as Record<string, Record<string, unknown> | undefined>
  if (regex != null) yield regex as Pattern
  if (`${type}` === 'Property' && key?.name === 'pattern' && typeof value?.value === 'string')
    yield { pattern: value.value, flags: 'u' }
  for (const inner of Object.values(node)) yield* patternsIn(inner)
}

function slowIn(lang: 'ts' | 'js', text: string): string[] {
  return [...patternsIn(parseAst(text, { lang }))].flatMap(({ pattern, flags }) => {
    const { reports } = analyse({ source: pattern, flags }, { reportTypes: { Move: true, Self: true, Trade: true } })
    return reports.length > 0 ? [`/${pattern}/${flags}`] : []
  })
}

test('an expression that takes quadratic time is found', () => {
  const slow = [/[ \t]+$/, /\s*,\s*/, /^(a+)+$/, /^\d+[\d.]*$/]
  const text = `const a = [${slow.join(', ')}]; const b = { pattern: 'x+$' }; const c = /^a+$/`
  assert.deepEqual(slowIn('ts', text), [...slow.map(String), '/x+$/u'])
})

test('no expression of src takes longer than its text is', () => {
  const files = globSync('src/**/*.{ts,js,mjs}', { cwd: root })
  const found = files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    return slowIn(file.endsWith('.ts') ? 'ts' : 'js', text).map((pattern) => `${file}: ${pattern}`)
  })
  assert.deepEqual(found, [], 'Anchor it, or use split, trim or withoutTrailing (platform/base/text.ts).')
})
