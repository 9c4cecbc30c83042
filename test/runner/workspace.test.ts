/** Which entries of a source are placed, with which mode and for which user, and which are refused. src/runner/build/workspace.ts; docs/runner.md: Source. */
import assert from 'node:assert/strict'
import { chownSync, lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { SourceEntry } from '../../src/delivery/protocol/runner-protocol.ts'
import { createWorkspace, placeSource, placeText } from '../../src/runner/build/workspace.ts'
import { sha256 } from './protocol-server.ts'

const isRoot = process.getuid?.() === 0
const ELSE = 65_534

const file = (path: string, text = path, mode = 0o644): SourceEntry => ({
  ...{ path, kind: 'file', mode, size: text.length, digest: sha256(text) },
})
const folder = (path: string): SourceEntry => ({ path, kind: 'folder', mode: 0o755, size: 0 })
const link = (path: string, target?: string): SourceEntry => ({
  ...{ path, kind: 'link', mode: 0o777, size: 0, ...(target !== undefined && { target }) },
})

/** Places entries into a new work directory, whose files have their path as their text. */
async function place(t: TestContext, entries: SourceEntry[], { diskBytes = 1000, owner = process.getuid!() } = {}) {
  const work = mkdtempSync(join(tmpdir(), 'berth-workspace-'))
  t.after(() => rmSync(work, { recursive: true, force: true }))
  if (owner !== process.getuid!()) chownSync(work, owner, owner)
  const workspace = await createWorkspace(work, 'source')
  const texts = new Map(entries.map(({ path, digest = '' }) => [digest, path]))
  await placeSource(workspace, entries, diskBytes, (digest, write) => {
    return write(
      (async function* () {
        yield Buffer.from(texts.get(digest)!)
      })(),
    )
  })
  return workspace
}

const SOURCE = [
  ...[file('a/b/c.txt'), file('run.sh', 'run.sh', 0o755), file('mine', 'mine', 0o100), file('none', 'none', 0o600)],
  ...[folder('empty/inner'), folder('a'), link('a/l', 'b/c.txt'), link('up/l', '../run.sh')],
]

test('files, directories and links are placed with the modes of a build', async (t) => {
  const { folder } = await place(t, SOURCE)
  const at = (path: string) => join(folder, path)
  const modes = ['a', 'a/b/c.txt', 'run.sh', 'mine', 'none', 'empty/inner', 'up']
  assert.deepEqual(
    modes.map((path) => (statSync(at(path)).mode & 0o777).toString(8)),
    ['755', '644', '755', '755', '644', '755', '755'],
  )
  assert.deepEqual([readdirSync(at('empty/inner')), readFileSync(at('a/b/c.txt'), 'utf8')], [[], 'a/b/c.txt'])
  assert.deepEqual([readlinkSync(at('a/l')), readFileSync(at('up/l'), 'utf8')], ['b/c.txt', 'run.sh'])
})

test('everything is of the user whose work directory it is', {
  skip: !isRoot && 'it takes root to give files away',
}, async (t) => {
  for (const owner of [ELSE, 0]) {
    const workspace = await place(t, SOURCE, { owner })
    assert.deepEqual(workspace.owner, { uid: owner, gid: owner })
    await placeText(workspace, join(workspace.folder, 'text'), 'für')
    const placed = ['', ...readdirSync(workspace.folder, { recursive: true, encoding: 'utf8' })]
    assert.equal(placed.length, 13)
    for (const path of placed) {
      const { uid, gid } = lstatSync(join(workspace.folder, path))
      assert.deepEqual([uid, gid], [owner, owner], path)
    }
    assert.equal(readFileSync(join(workspace.folder, 'text'), 'utf8'), 'für')
  }
})

/** TABLE entries → the code and the sentence of their refusal. */
const REFUSED: readonly [what: string, entries: SourceEntry[], code: string, sentence: RegExp][] = [
  ['a file twice', [file('a'), file('a')], 'BUILD_FAILED', /^The source has "a" twice\./],
  ['a file and a link', [file('a'), link('a', 'b')], 'BUILD_FAILED', /^The source has "a" twice\./],
  ['a file and a directory', [file('a'), folder('a')], 'BUILD_FAILED', /^The source has "a" twice\./],
  ['a directory and a file', [folder('a'), file('a')], 'BUILD_FAILED', /^The source has "a" twice\./],
  ['a file in a file', [file('a/b/c'), file('a')], 'BUILD_FAILED', /^The source has "a" twice\./],
  ['a file in a link', [link('a', '.'), file('a/b')], 'BUILD_FAILED', /^The source has "a" twice\./],
  [
    'a path that leads out',
    [file('a'), file('../b')],
    'BUILD_FAILED',
    /^The path "\.\.\/b" of the source does not name/,
  ],
  [
    'a link that leads out',
    [link('a', '../b')],
    'BUILD_FAILED',
    /^The link a of the source leads out of it, to "\.\.\/b"/,
  ],
  ['a link without a target', [link('a')], 'BUILD_FAILED', /^The link a of the source leads out of it, to ""/],
  [
    'a file without a digest',
    [{ ...file('a'), digest: undefined } as never],
    'RUNNER_FAILED',
    /^The file a .* has no digest/,
  ],
  [
    'more than the disk',
    [file('a', 'x'.repeat(600)), file('b', 'x'.repeat(401))],
    'BUILD_OUT_OF_DISK',
    /have 1001 bytes/,
  ],
]

for (const [what, entries, code, message] of REFUSED)
  test(`a source is refused: ${what}`, async (t) => {
    await assert.rejects(place(t, entries), (error: Error & { code: string }) => {
      assert.deepEqual([error.code, message.test(error.message)], [code, true], error.message)
      return true
    })
  })

test('a directory may be named twice, and a size below 0 makes no room', async (t) => {
  const { folder: placed } = await place(t, [folder('a'), folder('a'), folder('a/b'), file('a/c')])
  assert.deepEqual(readdirSync(join(placed, 'a')).sort(), ['b', 'c'])
  const over = [{ ...folder('d'), size: -500 }, file('e', 'x'.repeat(1001))]
  await assert.rejects(place(t, over), { code: 'BUILD_OUT_OF_DISK' })
  assert.ok(
    await place(t, [
      { ...file('a'), size: 600 },
      { ...file('b'), size: 400 },
    ]),
    'just the disk',
  )
})
