/** The mutants of a source, which are judged, and which the types refuse: `npm run test:mutations`. docs/testing.md. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Errors, refuseByTypes } from '../../../scripts/mutations/compile.ts'
import { keptOf, readKept } from '../../../scripts/mutations/kept.ts'
import { type Mutant, mutantsOf, mutate } from '../../../scripts/mutations/mutants.ts'
import { releaseOf } from '../../../scripts/mutations/release.ts'
import { summaryOf } from '../../../scripts/mutations/report.ts'
import { openResults, type Result } from '../../../scripts/mutations/results.ts'
import { EXCLUDED, sampleOf } from '../../../scripts/mutations/sample.ts'
import { hasCommit } from '../../../scripts/test/coverage/changes.ts'
import { root } from '../../support/root.ts'
import { repository, write } from './fixture.ts'

const SOURCE = `import { sql } from 'kysely'
export async function list(db: Db, limit: number): Promise<Row[]> {
  if (limit < 1) return []
  await touch(db)
  return db
    .selectFrom('row')
    .where('gone_at', 'is', null)
    .where(sql\`at > 1 and name is not null\`)
    .orderBy('at', 'desc')
    .execute()
}
`

const afterOf = (mutants: { after: string }[]) => mutants.map(({ after }) => after.trim())

test('a mutant changes one line: comparisons, statements left out, conditions left out of a query, operators in SQL', async (t) => {
  const folder = repository(t, { 'src/a.ts': SOURCE })
  const mutants = await mutantsOf('src/a.ts', SOURCE, join(folder, 'cache'))
  const after = afterOf(mutants)
  for (const line of [
    'if (limit <= 1) return []',
    'if (false) return []',
    'if (true) return []',
    ".where('gone_at', 'is not', null)",
    '.where(sql`at >= 1 and name is not null`)',
    '.where(sql`at > 1 or name is not null`)',
    '.where(sql`at > 1 and name is null`)',
    ".orderBy('at', 'asc')",
  ])
    assert.ok(after.includes(line), line)
  const leftOut = mutants.filter(({ after }) => after.trim() === '').map(({ before }) => before.trim())
  assert.deepEqual(leftOut, [
    'await touch(db)',
    ".where('gone_at', 'is', null)",
    '.where(sql`at > 1 and name is not null`)',
    ".orderBy('at', 'desc')",
  ])
  for (const mutant of mutants) {
    const [old, now] = [SOURCE.split('\n'), mutate(SOURCE, mutant).split('\n')]
    assert.deepEqual(now.with(mutant.line - 1, mutant.before), old)
    assert.equal(now[mutant.line - 1], mutant.after)
    assert.notEqual(mutant.after, mutant.before)
  }
  assert.deepEqual(await mutantsOf('src/a.ts', SOURCE, join(folder, 'cache')), mutants)
})

test('what no line reads is not mutated: the whole match of a pattern whose groups alone are read', async (t) => {
  const folder = repository(t, { 'src/a.ts': '' })
  const text = [
    'const [, name] = PATTERN.exec(text) ?? []',
    'const [whole] = PATTERN.exec(text) ?? []',
    'const [, other] = list([]) ?? []',
  ].join('\n')
  const mutants = await mutantsOf('src/a.ts', text, join(folder, 'cache'))
  assert.deepEqual(
    mutants.filter(({ mutator }) => mutator === 'ArrayDeclaration').map(({ line, column }) => [line, column]),
    [
      [2, text.split('\n')[1]!.indexOf('[]')],
      [3, text.split('\n')[2]!.indexOf('[]')],
    ],
  )
})

test('a part of an expression over several lines is not a statement that can be left out', async (t) => {
  const folder = repository(t, { 'src/a.ts': '' })
  const text = [
    'const a =',
    '  first(1)',
    'const b = [',
    '  second(2)',
    ']',
    'function c() {',
    '  third(3)',
    '    .more()',
    '}',
    '',
  ].join('\n')
  const mutants = await mutantsOf('src/a.ts', text, join(folder, 'cache'))
  assert.deepEqual(
    mutants.filter(({ mutator }) => mutator === 'Statement'),
    [],
  )
})

test('the same seed gives the same lines in the same order, also when other files change; another seed gives another order', async (t) => {
  const many = Array.from({ length: 30 }, (_, at) => `export const is${at} = (a: number) => a > ${at}\n`).join('')
  const folder = repository(t, { 'src/a.ts': SOURCE, 'src/b/b.ts': many, 'src/platform/db/migrations/0001.ts': many })
  const names = async (seed: number, area?: string) =>
    (await sampleOf(folder, join(folder, 'cache'), { seed, area })).map(
      ({ file, before, after }) => `${file} ${before} ${after}`,
    )
  const first = await names(1)
  assert.deepEqual(await names(1), first)
  assert.notDeepEqual(await names(2), first)
  assert.equal(first.filter((name) => name.startsWith('src/b/b.ts')).length, 30, 'one for each line')
  assert.equal(
    first.some((name) => name.includes('migrations')),
    false,
  )
  assert.deepEqual(
    await names(1, 'src/b'),
    first.filter((name) => name.startsWith('src/b/b.ts')),
  )
  writeFileSync(join(folder, 'src/a.ts'), '')
  assert.deepEqual(
    await names(1),
    first.filter((name) => name.startsWith('src/b/b.ts')),
  )
})

test('since a commit, only lines that changed or are new are judged', async (t) => {
  const folder = repository(t, { 'src/a.ts': SOURCE, 'src/b.ts': SOURCE })
  writeFileSync(join(folder, 'src/a.ts'), SOURCE.replace('limit < 1', 'limit < 2'))
  writeFileSync(join(folder, 'src/c.ts'), 'export const isC = (a: number) => a > 1\n')
  const sample = await sampleOf(folder, join(folder, 'cache'), { seed: 1, since: 'HEAD' })
  assert.deepEqual(sample.map(({ file, line }) => `${file}:${line}`).toSorted(), ['src/a.ts:3', 'src/c.ts:1'])
})

test('files that are not mutated exist, and the page gives the reason', () => {
  const page = readFileSync(join(root, 'docs', 'testing.md'), 'utf8')
  for (const [path, reason] of Object.entries(EXCLUDED)) {
    assert.ok(existsSync(join(root, path)), path)
    assert.ok(page.includes(`\`${path}\``), path)
    assert.ok(reason.length > 10)
  }
})

test('the types refuse a mutant for an error in its own file, and for one in another where it alone is asked', async (t) => {
  const files = Object.fromEntries(
    ['a', 'b', 'c', 'd'].map((name) => [`src/${name}.ts`, `export const ${name} = (x: number) => x > 1\n`]),
  )
  const folder = repository(t, files)
  write(folder, 'src/other.ts', "import './c.ts'\n")
  const mutants = (await sampleOf(folder, join(folder, 'cache'), { seed: 1 })).toSorted((a, b) =>
    a.file < b.file ? -1 : 1,
  )
  const asked: string[][] = []
  // a has an error of its own; c causes one in an unchanged file.
  const refused = new Set<Mutant>()
  const errorsOf: Errors = async (mutated) => {
    const names = [...mutated.keys()]
    asked.push(names)
    return new Set(
      names.flatMap((name) => (name === 'src/a.ts' ? [name] : name === 'src/c.ts' ? ['src/other.ts'] : [])),
    )
  }
  await refuseByTypes(folder, mutants, errorsOf, refused)
  assert.deepEqual([...refused].map(({ file }) => file).toSorted(), ['src/a.ts', 'src/c.ts'])
  assert.ok(asked.length <= 8, `${asked.length} runs of the types`)
})

test('a stored result is valid until its source or its test changes; a survivor also until another test executes it', async (t) => {
  const folder = repository(t, { 'src/a.ts': SOURCE, 'test/one.test.ts': '1', 'test/two.test.ts': '2' })
  const [killed, survived] = await mutantsOf('src/a.ts', SOURCE, join(folder, 'cache'))
  const file = join(folder, 'results.jsonl')
  const both = ['test/one.test.ts', 'test/two.test.ts']
  const results = openResults(folder, file, true)
  results.keep(killed!, { outcome: 'killed', because: 'one', tests: ['test/one.test.ts'] })
  results.keep(survived!, { outcome: 'survived', because: '', tests: both })
  const found = (mutant = killed!, tests = both) => openResults(folder, file, false).find(mutant, tests)?.outcome
  assert.deepEqual([found(killed), found(survived)], ['killed', 'survived'])
  assert.equal(openResults(folder, file, true).find(killed!, both), undefined, 'without --resume nothing counts')
  assert.equal(found(survived, [...both, 'test/three.test.ts']), undefined)
  writeFileSync(join(folder, 'test/two.test.ts'), 'changed')
  assert.deepEqual([found(killed), found(survived)], ['killed', undefined])
  writeFileSync(join(folder, 'src/a.ts'), SOURCE.replace('limit < 1', 'limit < 2'))
  assert.equal(found(killed), undefined)
})

test('an allowed survivor is identified by its lines, wherever they are now; it has a reason, and does not fail a run', async (t) => {
  const folder = repository(t, { 'src/a.ts': SOURCE })
  const mutants = await mutantsOf('src/a.ts', SOURCE, join(folder, 'cache'))
  const [equivalent, known, fresh, killed] = mutants as [Result, Result, Result, Result]
  const entry = ({ before, after }: Result, isEquivalent: boolean) => ({
    file: 'a.ts',
    before: before.trim(),
    after: after.trim(),
    equivalent: isEquivalent,
    reason: 'because of the fixture',
  })
  const kept = [entry(equivalent, true), entry(known, false)]
  assert.equal(
    keptOf(kept, { ...equivalent, file: 'src/elsewhere/a.ts', line: 99, before: `    ${equivalent.before}` }),
    kept[0],
  )
  assert.equal(keptOf(kept, fresh), undefined)
  const { text, survivors } = summaryOf(
    [
      ...[equivalent, known].map((result): Result => ({ ...result, outcome: 'survived' })),
      { ...fresh, outcome: 'not covered' },
      { ...killed, outcome: 'killed' },
      { ...killed, outcome: 'does not compile' },
    ],
    kept,
  )
  assert.deepEqual(
    survivors.map(({ after }) => after),
    [fresh.after],
  )
  assert.match(text, /^1 of 3 killed \(33\.3 %\), 2 survived, of which no test executes 1 and 1 are known\.$/m)
  assert.match(text, /^Apart: 1 equivalent, 1 that do not compile, 0 /m)
  assert.ok(
    text.includes(`not covered: src/a.ts:${fresh.line}\n  - ${fresh.before.trim()}\n  + ${fresh.after.trim()}\n`),
    text,
  )
  for (const { reason } of readKept()) assert.ok(reason.length > 10, reason)
})

test('an invalid request is refused with the reason; a release whose tag and commit a clone does not have is named', () => {
  for (const [words, says] of [
    [['--since', 'no-such'], /there is no commit no-such here: is the clone shallow\?/],
    [['--area', 'test'], /--area takes a folder or a file of src, such as src\/projects\/env, not test/],
    [['--sample', 'many'], /--sample takes a number, not many/],
  ] as const) {
    const ran = spawnSync(process.execPath, ['scripts/test-mutations.ts', ...words], { cwd: root, encoding: 'utf8' })
    assert.equal(ran.status, 64, ran.stdout)
    assert.match(ran.stderr, says)
  }
})

test('the last release is the tag of the version, or the stored commit where there is no tag', (t) => {
  const folder = repository(t, { 'package.json': '{ "version": "7.8.9" }' })
  assert.match(releaseOf(folder), /^[0-9a-f]{7,40}$/)
  assert.equal(
    hasCommit(folder, releaseOf(folder)),
    false,
    'a clone without it is reported, and a sample of all lines is judged',
  )
  assert.equal(spawnSync('git', ['tag', 'v7.8.9'], { cwd: folder }).status, 0)
  assert.equal(releaseOf(folder), 'v7.8.9')
})
