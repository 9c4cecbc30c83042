/**
 * Every citation names a page of this repository, and an existing section of it. docs/style.md: Citations.
 *
 * A citation is the path of a page from the root, `docs/edge.md`. Behind it stands nothing, or `: Section` and more sections behind
 * commas, or numbers (`docs/spec/wire.md 2.2 and 6`). `Specification: Scopes` is short for the page docs/spec/specification.md.
 */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { test } from 'node:test'
import { root } from '../support/root.ts'

const FOLDERS = ['src', 'test', 'scripts', 'bin', 'deploy', '.ci', 'docs']
const AT_ROOT = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md']
const SPECIFICATION = 'docs/spec/specification.md'

type Page = { sections: string[]; numbers: Set<string>; anchors: Set<string> }
const pages = new Map<string, Page>()

const files = [...FOLDERS.flatMap(filesBelow), ...AT_ROOT].filter((path) => !path.endsWith('.json'))

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.png'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

test('a citation in code names a page of this repository and a section that is there', () => {
  const code = files.filter((path) => !path.endsWith('.md'))
  const wrong = code.flatMap((path) => comments(path, read(path)).flatMap((text) => wrongCitations(path, text)))
  assert.deepEqual(wrong, [])
})

test('every page that a program names exists, and has the section that it names', () => {
  const code = files.filter((path) => !path.endsWith('.md'))
  const wrong = code.flatMap((path) => {
    // Tests name sections that are not there, on purpose.
    const sectionOf = (said = '') => (path.startsWith('test/') ? '' : said)
    return [...read(path).matchAll(/\b(docs\/[\w/-]+\.md)\b(?:[,:] ([A-Z][\w -]*))?/g)]
      .filter(([, page, said]) => !existsSync(join(root, page!)) || !hasSection(page!, sectionOf(said)))
      .map(([named]) => `${path}: ${named}`)
  })
  assert.deepEqual(wrong, [])
})

/** A sentence may go on behind the name. */
function hasSection(page: string, named: string): boolean {
  return named === '' || pageOf(page).sections.some((name) => named.startsWith(name) || name.startsWith(named))
}

test('the page and heading of every link and citation in a page exist', () => {
  const wrong = files
    .filter((path) => path.endsWith('.md'))
    .flatMap((path) => {
      const prose = read(path).replace(/^(```+)[\s\S]*?^\1/gm, '')
      return [
        ...wrongLinks(path, prose.replace(/`[^`\n]*`/g, '')),
        ...wrongCitations(path, prose.replace(/\[[^\]]*\]\([^)]*\)/g, '')),
      ]
    })
  assert.deepEqual(wrong, [])
})

test('each heading of a page has an anchor of its own, and a table ends before the next sentence', () => {
  const pages = files.filter((path) => path.endsWith('.md') && path !== 'CHANGELOG.md')
  const wrong = pages.flatMap((path) => {
    const prose = read(path).replace(/^(```+)[\s\S]*?^\1/gm, '')
    const headings = [...prose.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading!)
    const twice = headings.filter((heading, at) => headings.indexOf(heading) < at)
    const behind = [...prose.matchAll(/^\|.*\n(?=[^|\n])(.*)/gm)].map(([, sentence]) => sentence!)
    return [...twice, ...behind].map((text) => `${path}: ${text}`)
  })
  assert.deepEqual(wrong, [])
})

test('every page is in the index of its folder', () => {
  const unlisted = filesBelow('docs').filter((path) => {
    const index = path.startsWith('docs/decisions/') ? 'docs/decisions/README.md' : 'docs/README.md'
    return path.endsWith('.md') && path !== index && !read(index).includes(`](${relative(dirname(index), path)})`)
  })
  assert.deepEqual(unlisted, [])
})

test('a citation that leads nowhere is seen', () => {
  const bad = [
    'see nowhere.md',
    join('docs', 'nowhere.md'),
    'wire.md 2.2',
    'docs/spec/wire.md 2.99',
    'docs/spec/wire.md 2.2 and 99',
    'docs/spec/decisions.md: Nothing',
    'docs/spec/decisions.md: Projects, Nothing',
    'docs/spec/decisions.md, Projects',
    'Specification: Nothing',
    'Specification: operations 1 and 99',
    'docs/decisions/9999',
    'decisions/0001',
    'the latest one counts (0021)',
    'docs/decisions/0001 and 9999',
    'src/nowhere.ts',
    'access/nowhere.ts',
    'review: H1',
    'the issue says so',
  ]
  for (const text of bad) assert.equal(wrongCitations('here', text).length, 1, text)
  assert.equal(wrongLinks('docs/edge.md', '[x](nowhere.md), [y](style.md#nothing)').length, 2)
  const good =
    'docs/spec/wire.md 2.2, 4 and 6; docs/spec/decisions.md: Projects, Pagination. Specification: operations 1 to 5 and 8'
  assert.deepEqual(wrongCitations('here', good), [])
})

test('a citation is seen wherever a comment is', () => {
  const bad = join('docs', 'nowhere.md')
  const code = {
    'x.ts': [
      `/** It is so: ${bad}. */`,
      `/**\n * It is so:\n * ${bad}\n */`,
      `  // It is so:\n  // ${bad}\n`,
      `call() // ${bad}`,
    ],
    'x.conf': [`# ${bad}`, `here {\n  # ${bad}\n}`],
  }
  for (const [path, texts] of Object.entries(code)) {
    for (const text of texts) {
      const wrong = new Set(comments(path, text).flatMap((said) => wrongCitations(path, said)))
      assert.equal(wrong.size, 1, text)
    }
  }
  assert.deepEqual(comments('x.ts', "const page = 'nowhere.md'"), [])
})

/** The comments of a file, each as one line. */
function comments(path: string, text: string): string[] {
  if (!/\.m?[jt]s$/.test(path)) {
    return [text.replace(/^(?!\s*#).*$/gm, '').replace(/^\s*#/gm, ' ')]
  }
  const blocks = [...text.matchAll(/\/\*\*[\s\S]*?\*\//g)].map(([block]) => block.replace(/\n\s*\*/g, ' '))
  const lines = [...text.matchAll(/(?:^[ \t]*\/\/.*\n)+/gm)].map(([block]) => block.replace(/^\s*\/\//gm, ' '))
  const behind = [...text.matchAll(/\S.* \/\/ (.*)$/gm)].map(([, said]) => said!)
  return [...blocks, ...lines, ...behind].map((said) => said.replace(/\s+/g, ' '))
}

function wrongCitations(path: string, text: string): string[] {
  const wrong: string[] = []
  const line = text.replace(/\s+/g, ' ')
  for (const found of line.matchAll(
    /[\w./-]*\b[\w-]+\.md\b|\bSpecification(?=: )|\b(?:docs\/)?decisions\/\d{4}\b(?!-)(?:(?:, | and | to )\d{4})*/g,
  )) {
    const [named] = found
    const behind = line.slice(found.index + named.length)
    const why = named.endsWith('.md') || named === 'Specification' ? notThere(named, behind) : notDecided(named)
    if (why) wrong.push(`${path}: "${named}${behind.slice(0, 40)}": ${why}`)
  }
  for (const [file] of line.matchAll(/(?<![\w./-])[a-z][\w-]*(?:\/[\w-]+)+(?:\.\w+)*\.(?:ts|mjs|sh|cfg)\b/g)) {
    if (!['', 'src', 'test'].some((from) => existsSync(join(root, from, file))))
      wrong.push(`${path}: "${file}": no file`)
  }
  for (const [said] of line.matchAll(
    /\breview: [A-Z]\d+|\b[Tt]he issue\b|\bissue: [A-Z]|security review|\(0[01]\d\d\)/g,
  )) {
    wrong.push(`${path}: "${said}" is in no page of this repository`)
  }
  return wrong
}

function notDecided(named: string): string | undefined {
  if (!named.startsWith('docs/')) return 'no path from the root'
  const there = filesBelow('docs/decisions')
  const missing = named.match(/\d{4}/g)!.find((number) => !there.some((file) => file.includes(`/${number}-`)))
  return missing && `no such decision as ${missing}`
}

function notThere(named: string, behind: string): string | undefined {
  const path = named === 'Specification' ? SPECIFICATION : named
  if (!existsSync(join(root, path)) || !(path.startsWith('docs/') || AT_ROOT.includes(path))) {
    return 'no page of this path from the root'
  }
  const page = pageOf(path)
  const numbers = /^:? (?:operations? )?([A-Z]{0,2}\d+[a-z]?(?:\.\d+)*|[A-Z](?:\.\d+)?(?=[.,;)]))/
  if (numbers.test(behind)) return missingNumber(page, behind.replace(/^:? (operations? )?/, ''))
  const afterComma = behind.startsWith(', ') && page.sections.find((name) => behind.startsWith(`, ${name}`))
  if (afterComma) return `a section comes after a colon: "${afterComma}"`
  return behind.startsWith(': ') ? missingSection(page, behind.slice(2)) : undefined
}

/** `behind`: "2.2, 4 and 6; what else is said". */
function missingNumber(page: Page, behind: string): string | undefined {
  const list = behind.match(/^[\w.]*\w(?:(?:, | and | to )(?:[A-Z]{0,2}\d+[a-z]?|[A-Z])(?:\.\d+)*\b)*/)![0]
  const missing = list.split(/, | and | to /).find((number) => !page.numbers.has(number))
  return missing && `the page has no "${missing}"`
}

/** `behind`: "Projects, Pagination. And more". What stands behind a comma and begins as a name does is a section too. */
function missingSection(page: Page, behind: string): string | undefined {
  const section = page.sections.find((name) => behind.startsWith(name) && !/^\w/.test(behind.slice(name.length)))
  if (!section) return `the page has no section "${behind.split(/[.,;)]/)[0]}"`
  const next = behind.slice(section.length).match(/^(?:,| and|, and) (?=[A-Z`])(.*)/)
  return next ? missingSection(page, next[1]!) : undefined
}

/** What can be cited of a page: headings, what stands in bold before a rule, and the numbers of headings, table rows and lists. */
function pageOf(path: string): Page {
  const known = pages.get(path)
  if (known) return known
  const text = read(path).replace(/^(```+)[\s\S]*?^\1/gm, '')
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, said]) => said!)
  const rules = [...text.matchAll(/^(?:- )?\*\*(.+?)\*\*|^- ([A-Z][^:.]{1,60}):/gm)].map(
    ([, bold, plain]) => bold ?? plain!,
  )
  const rows = [...text.matchAll(/^\| \**(\w+)\** \||^(\d+)\. /gm)].map(([, row, point]) => row ?? point!)
  const numbered = headings.flatMap((said) => said.match(/^[\w.]*\d[\w.]*(?: and [\w.]*\d[\w.]*)*|^[A-Z](?=\. )/) ?? [])
  const names = headings.map((said) => said.replace(/^[\w.]*\d[\w.]*(?: and \d+)*\.? |^[A-Z]\. /, ''))
  const page = {
    sections: [...names, ...rules.map((said) => said.replace(/[.:]$/, ''))].sort((a, b) => b.length - a.length),
    numbers: new Set(
      [...numbered.flatMap((said) => said.split(' and ')), ...rows].map((said) => said.replace(/\.$/, '')),
    ),
    anchors: new Set(headings.map(anchorOf)),
  }
  pages.set(path, page)
  return page
}

/** As the pages of a repository are shown: lower case, without marks, spaces as hyphens. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
}

function wrongLinks(path: string, text: string): string[] {
  const wrong: string[] = []
  for (const [link, target] of text.matchAll(/\]\(([^)]+)\)/g)) {
    const [file, anchor] = target!.split('#') as [string, string | undefined]
    if (/^[a-z]+:/.test(target!)) continue
    const to = file === '' ? path : normalize(join(dirname(path), file))
    if (!existsSync(join(root, to))) wrong.push(`${path}: "${link}": no such file`)
    else if (anchor && !pageOf(to).anchors.has(anchor)) wrong.push(`${path}: "${link}": no such heading`)
  }
  return wrong
}
