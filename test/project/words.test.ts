/** No page, comment, message or title has a banned word, but for named exceptions. docs/style.md: Words. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { root } from '../support/root.ts'
import { bannedIn, sentencesOfCode, withoutNames } from './banned-words.ts'

const FOLDERS = ['src', 'test', 'scripts', 'bin', 'deploy', '.ci', 'docs']
const AT_ROOT = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md']

/** TABLE files that are not read → why. */
const UNREAD: Record<string, string> = {
  'docs/spec/specification.md': 'the text of the specification',
  'docs/glossary.md': 'it lists the banned words',
  'test/project/banned-words.ts': 'it lists the banned words',
  'test/project/words.test.ts': 'it tests the banned words',
  'docs/api/': 'it is generated from the texts of src',
  'test/console/page-texts.txt': 'the texts of pages, which stand in src',
  'src/platform/pages/assets/licences/': 'texts of others',
  'src/platform/db/migrations/': 'a migration never changes',
}

/** TABLE phrases with a banned word → where they are allowed, and why. A table row of a test is a cell that names its file and its title. */
const EXCEPTIONS: [phrase: RegExp, files: RegExp, why: string][] = [
  [/-fault\b/, /^src\/console\/(action|fields)\.ts$/, 'ids of elements'],
  [/fault injection/, /^(README|docs\/)/, 'the term of the trade'],
  [
    /\bfaults?\b/,
    /^(docs\/(README|faults|scaling|testing)\.md|docs\/spec\/reliability\.md|scripts\/test-f\w+\.ts|test\/(failover|faults)\/[\w-]+\.ts|test\/project\/fault-load\.test\.ts|test\/support\/(postgres|process)\.ts)$/,
    'a fault that is injected',
  ],
  [/page faults/, /^src\/sandbox\/seccomp\.ts$/, 'the term of the kernel'],
  [/faults: found/, /^src\/platform\/db\/sqlite\/vacuum\.ts$/, 'the code of a thread, which is a text'],
  [
    /told/,
    /^src\/platform\/db\/postgres\/change-triggers\.ts$/,
    'SQL that two versions share in a rolling upgrade: until 2.0',
  ],
  [/\.fault\b/, /^src\/platform\/pages\/assets\/face\.css$/, 'CSS classes'],
  [
    /such as nobody|nobody:x:65534|the user nobody/,
    /^(src\/(platform\/settings|sandbox)|test\/(sandbox|release))\//,
    'the user of the system',
  ],
  [
    /nobody reads this|'in clear'/,
    /^(scripts\/store-fixture\/fill|test\/(cli\/command|clients)\/import\.test|test\/platform\/db\/earlier-versions\.test)\.ts$/,
    'values of variables, also in the stores of earlier versions',
  ],
  [/\/console\/operator\/people\//, /^test\//, 'a path of the console'],
  [/standby_names = 'nobody'/, /^test\/platform\/db\/synchronous\.long\.test\.ts$/, 'the name of a standby'],
  [/told(\.| )\$\{|told \d'/, /^test\/platform\/mail\/mail\.test\.ts$/, 'an address, and subjects of letters'],
  [/\/people\b|'person admin'/, /^test\/console\//, 'paths of Operator › Users, and the name of a kind'],
  [/'person [\w-]+/, /^test\/projects\/search\/search\.test\.ts$/, 'the name of a kind on the wire'],
  [/'worry: /, /^test\/operations\/backup\/verify\.test\.ts$/, 'a level on the wire'],
  [
    /\b(as|where) told\b|coalesce\((\w+\.)?told|gone\.told|\btold: \(/,
    /^test\/(faults\/store|support\/clients\/tour)\.ts$/,
    'names in SQL and in a script, which are texts',
  ],
  [/,proof,/, /^test\/project\/glossary\.test\.ts$/, 'a word of the specification'],
  [
    /\bof (somebody else|nobody)'|'somebody else'|\banybody:|token-of-somebody-else|Error\('nobody'\)/,
    /^test\/(delivery\/logs|operations\/(backup|edge|operator)|project|projects\/env)\/[\w-]+\.test\.ts$/,
    'values',
  ],
  [
    /\b(branch|search)=nobody|Mend <it>|\bwish list|\bproof\.example/,
    /^test\/(console\/(project|team)|faults|projects\/search)\/[\w.-]+\.ts$/,
    'values',
  ],
  [/nobody reads this|'in clear'/, /^scripts\/store-fixture\/fill\.ts$/, 'values in the stores of earlier versions'],
  [/(?<=\| {2,}: )[^|]+/, /^docs\/(threats|effects)\.md$/, 'titles of tests, which stand in test/'],
]
const used = new Set<RegExp>()

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(json|png|svg)$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !Object.keys(UNREAD).some((unread) => path.startsWith(unread)))
}

function bannedOf(path: string): string[] {
  const text = readFileSync(join(root, path), 'utf8')
  const allowed = EXCEPTIONS.filter(([, files]) => files.test(path)).map(([phrase]) => phrase)
  const sentences = /\.m?[tj]s$/.test(path) ? sentencesOfCode(text) : withoutNames(text)
  for (const phrase of allowed) if (new RegExp(phrase, 'i').test(sentences)) used.add(phrase)
  return bannedIn(sentences, allowed).map(
    ({ at, word, write }) => `${path}:${text.slice(0, at).split('\n').length}: "${word}"; write: ${write}`,
  )
}

test('no page, comment, message or title has a banned word', () => {
  assert.deepEqual([...FOLDERS.flatMap(filesBelow), ...AT_ROOT].flatMap(bannedOf), [])
  assert.deepEqual(
    EXCEPTIONS.filter(([phrase]) => !used.has(phrase)),
    [],
    'these exceptions are used nowhere',
  )
})

test('a banned word is seen in every kind of sentence, and in no name', () => {
  const seen = [
    '/** Who acts. */',
    '/**\n * It is taken\n * over.\n */',
    'call() // anew',
    "const said = 'a stranger'",
    'const said = `it is $' + "{is('by itself ') ? `$" + '{one} nobody` : 2} beside`',
    "const mark = /[`'/]/.test(text) ? 'the moment' : ''",
  ]
  assert.deepEqual(
    seen.map((code) => bannedIn(sentencesOfCode(code)).map(({ word }) => word)),
    [['who acts'], ['take over'], ['anew'], ['stranger'], ['by itself', 'nobody', 'beside'], ['moment']],
  )
  const names = 'const fault = person.proof /* `nobody`: test/faults/kill.ts */ + \'moment\' + `<p id="fault">of it`'
  assert.deepEqual(bannedIn(sentencesOfCode(names)), [])
  assert.deepEqual(bannedIn(withoutNames('`who acts`, [one](faults.md#fault), docs/faults.md')), [])
})
