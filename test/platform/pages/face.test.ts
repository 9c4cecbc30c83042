/** The stylesheet has no rule for a class that no page has. docs/console.md: Page layout. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../../support/root.ts'

const STYLESHEET = 'src/platform/pages/assets/face.css'
/** TABLE where the classes come from that no attribute names. */
const COMPUTED: Record<string, readonly string[]> = {
  'the moods of a state': ['busy', 'idle', 'warn'],
  'the hues of initials': ['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'h7', 'h8'],
  'a size of initials': ['m'],
  'the looks of a bar': ['ok', 'no', 'off'],
  'the looks of a line of a log': ['error', 'step'],
  Turbo: ['turbo-progress-bar'],
}
const ATTRIBUTE = /\bclass(?:="|Name: ')((?:[^"'$]|\$\{(?:[^{}]|\{[^{}]*\})*\})*)/g

/** The words of all class attributes, those within their expressions included. */
function classesOfPages(): Set<string> {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  const texts = files
    .filter((file) => /\.ts$|-script\.js$/.test(file))
    .map((file) => readFileSync(join(root, 'src', file), 'utf8'))
  const attributes = texts.flatMap((text) => [...text.matchAll(ATTRIBUTE)].map(([, value]) => value!))
  return new Set(attributes.flatMap((value) => value.match(/[\w-]+/g) ?? []))
}

test('every class of the stylesheet is one of a page', () => {
  const css = readFileSync(join(root, STYLESHEET), 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '')
  const selectors = css.replaceAll(/\{[^{}]*\}/g, '{}')
  const styled = new Set([...selectors.matchAll(/\.([a-z][\w-]*)/gi)].map(([, name]) => name!))
  assert.ok(styled.size > 150, `${styled.size} classes`)
  const known = new Set([...classesOfPages(), ...Object.values(COMPUTED).flat()])
  assert.deepEqual(
    [...styled].filter((name) => !known.has(name)),
    [],
  )
})
