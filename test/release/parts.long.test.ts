/** What the papers of a release say of third-party parts, and the files for operators. docs/releasing.md. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { bundle, EXECUTABLE_ENTRY, PACKAGE_ENTRY } from '../../scripts/release/bundle.ts'
import { librariesOf } from '../../scripts/release/libraries.ts'
import { licencesOf } from '../../scripts/release/licences.ts'
import { operatorArchive, operatorTexts } from '../../scripts/release/operator-files.ts'
import { billOfMaterials } from '../../scripts/release/papers.ts'
import { debianParts, npmParts, type Part, runtimePart } from '../../scripts/release/parts.ts'
import { canRun, skipReason } from '../support/programs.ts'
import { root } from '../support/root.ts'
import { VERSION, whyNoArm64 } from './artefacts.ts'

type Component = { name: string; version: string; purl: string; licenses: unknown[]; hashes?: object[] }
const componentsOf = (parts: Part[]): Component[] => JSON.parse(billOfMaterials(VERSION, parts)).components

/** The names and versions of the sections of a text of licenses. */
function sectionsOf(text: string): string[] {
  return text.split(`\n${'-'.repeat(80)}\n`).map((section) => {
    const [, title, licence, purl] = /^(\S+ \S+): (.+)\n(pkg:\S+)(?:\n|$)/.exec(section) ?? []
    assert.ok(title && licence && purl, section.slice(0, 200))
    return title
  })
}

test('the bill of materials and the licenses name every package whose modules are in the bundle, and nothing else of npm', async () => {
  const { packages } = await bundle(EXECUTABLE_ENTRY, VERSION)
  assert.deepEqual((await bundle(PACKAGE_ENTRY, VERSION)).packages, packages, 'the package holds the same')
  const parts = npmParts(packages)
  const expected = packages.map((folder) => {
    const { name, version } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    return `${name} ${version}`
  })
  const components = componentsOf(parts)
  assert.deepEqual(components.map(({ name, version }) => `${name} ${version}`).sort(), [...new Set(expected)].sort())
  assert.deepEqual(sectionsOf(licencesOf(parts)).sort(), [...new Set(expected)].sort())
  for (const { purl, licenses, hashes } of components) assert.ok(licenses.length === 1 && hashes?.length === 1, purl)
  // These were missing once, and those were named without being inside.
  const names = components.map(({ name }) => name)
  for (const name of ['pg', 'pg-types', 'jose', 'oauth4webapi', 'nodemailer', 'ajv', 'fast-uri', 'semver', 'tslib'])
    assert.ok(names.includes(name), name)
  assert.deepEqual(
    names.filter((name) => /node-(?:bin|linux|darwin|win)/.test(name)),
    [],
  )
})

test('a package that lies in a folder of another is one of its own', () => {
  const [locked] = globSync('node_modules/*/node_modules/*/package.json', { cwd: root })
  assert.ok(locked)
  const { name, version } = JSON.parse(readFileSync(join(root, locked), 'utf8'))
  const folder = locked.replace(/\/package\.json$/, '')
  const [part, ...more] = npmParts([folder, folder])
  assert.deepEqual([part?.name, part?.version, more], [name, version, []])
})

test('the Node.js of the executables is named by its own name and version', () => {
  const [node] = componentsOf([runtimePart()])
  assert.deepEqual([node?.purl, node?.version], [`pkg:generic/node@${process.versions.node}`, process.versions.node])
  assert.match(licencesOf([runtimePart()]), /^node \S+: MIT\npkg:\S+\n\nNode\.js is licensed/)
})

const noDpkg = canRun('dpkg-query', '--version')
  ? whyNoArm64()
  : skipReason('dpkg-query', 'dpkg', 'the parts of the image')
const debian = { skip: process.arch !== 'x64' ? 'executables are made on x64' : noDpkg }

test(
  'every library of the image is of a Debian package that is named, with its license and the texts that it refers to',
  debian,
  () => {
    const libraries = (['x64', 'arm64'] as const).flatMap((arch) => librariesOf(process.execPath, arch))
    const parts = debianParts(libraries)
    const plain = parts.map(({ name }) => name.replace(/-arm64-cross$/, '')).sort()
    assert.deepEqual(
      plain,
      ['libatomic1', 'libc6', 'libgcc-s1', 'libstdc++6'].flatMap((name) => [name, name]),
    )
    for (const { name, version, purl, texts } of parts) {
      assert.match(purl, /^pkg:deb\/[a-z]+\/lib[a-zB0-9%.-]+@[^?]+\?arch=(?:amd64|arm64|all)&distro=[a-z]+-[\d.]+$/)
      assert.ok(purl.includes(`@${encodeURIComponent(version)}?`))
      assert.match(texts.join('\n'), /GNU LESSER GENERAL PUBLIC LICENSE|GNU GENERAL PUBLIC LICENSE/, name)
    }
    assert.equal(new Set(componentsOf(parts).map(({ purl }) => purl)).size, 8)
    const text = licencesOf(parts)
    assert.equal(sectionsOf(text).length, 8)
    assert.equal(text.split('Version 2.1, February 1999').length, 2, 'a long text stands once')
    const file = { path: '/etc/hostname', name: 'etc/hostname', mode: 0o644 }
    assert.throws(() => debianParts([file]), /dpkg knows no package of \/etc\/hostname: make the release on Debian/)
  },
)

test('deploy/ and docs/ are in an archive as they are in the repository, but for pictures', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-operator-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'files.tar.gz'), operatorArchive(VERSION))
  execFileSync('tar', ['-xzf', 'files.tar.gz'], { cwd: folder })
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', 'deploy', 'docs'], {
    cwd: root,
    encoding: 'utf8',
  })
  const expected = listed
    .trim()
    .split('\n')
    .filter((path) => !path.startsWith('docs/images/'))
  assert.ok(expected.includes('deploy/berth.service') && expected.includes('docs/backup.md'))
  for (const path of [...expected, 'README.md', 'CHANGELOG.md', 'LICENSE'])
    assert.ok(readFileSync(join(folder, `berth-${VERSION}`, path)).equals(readFileSync(join(root, path))), path)
  const texts = operatorTexts()
  const pages = expected.filter((path) => path.startsWith('deploy/') || /^docs\/[^/]+\.md$/.test(path))
  assert.deepEqual(Object.keys(texts).sort(), pages.sort())
  assert.ok(Object.values(texts).join('').length < 2_000_000, 'the package stays small')
})
