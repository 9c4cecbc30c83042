/** The glossary, docs/glossary.md. Each word stands once, is explained in a sentence or two, and names files that are there. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../support/root.ts'

const text = readFileSync(join(root, 'docs', 'glossary.md'), 'utf8')
const lines = text.split('\n').filter((line) => /^\| (?!Word|---)/.test(line))
const rows = lines.map((line) => {
  const [, word, meaning, files] = /^\| (.+?) \| (.+?) \| (`[^`]+`(?:, `[^`]+`)*) \|$/.exec(line) ?? assert.fail(line)
  return { word: word!, meaning: meaning!, files: files!.match(/[^`, ]+/g)! }
})

test('each word is in the glossary once, has one to three sentences, and names existing files', () => {
  assert.ok(rows.length > 70, `${rows.length} words`)
  const words = rows.map(({ word }) => word)
  assert.deepEqual(
    words.filter((word, at) => words.indexOf(word) !== at),
    [],
  )
  for (const { word, meaning, files } of rows) {
    for (const file of files) assert.ok(existsSync(join(root, file)), `${word}: ${file} is not there`)
    assert.match(meaning, /\.$/, word)
    assert.ok(meaning.split(/\. (?=[A-Z])/).length <= 3, word)
  }
})

test('the words that the specification and the pages use without explaining are in the glossary', () => {
  const words = new Set(rows.flatMap(({ word }) => word.split(', ')))
  const needed =
    'project,account,team,member,integration,installation,scope,consent,deployment,alias,production,environment,custom environment,variable,root key,data key,seal,outbox,event,delivery,endpoint,drain,lease,stamp,group commit,edge,claim,proof,challenge,audit chain'
  assert.deepEqual(
    needed.split(',').filter((word) => !words.has(word)),
    [],
  )
})
