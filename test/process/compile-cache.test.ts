/** Compiled code is run as it is found, so it is kept where no other user can write, or nowhere. docs/operations.md: Compile cache. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { root } from '../support/root.ts'

const isRoot = process.getuid?.() === 0
const ELSE = 65_534

/** Where the entry would keep compiled code below these homes. */
function cacheIn(...homes: string[]): string | undefined {
  const ask = `import { compileCacheIn } from ${JSON.stringify(join(root, 'bin', 'compile-cache.mjs'))}
    console.log(JSON.stringify(compileCacheIn(${JSON.stringify(homes)}) ?? null))`
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', ask], { encoding: 'utf8' })
  return JSON.parse(said) ?? undefined
}

function newHome(t: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), 'berth-compiled-'))
  t.after(() => rmSync(home, { recursive: true, force: true }))
  return home
}

const kept = (home: string) => join(home, '.cache', 'berth-compiled')

test('compiled code is kept in a folder that is for our eyes only, made once and taken again', (t) => {
  const home = newHome(t)
  assert.equal(cacheIn(home), kept(home))
  assert.equal(lstatSync(kept(home)).mode & 0o777, 0o700)
  assert.equal(cacheIn(home), kept(home))
  assert.equal(cacheIn(join(home, 'nowhere')), undefined)
  assert.equal(cacheIn(join(home, 'nowhere'), home), kept(home))
})

test('a folder that others can write, or only read, is not taken, nor one below such a folder', (t) => {
  for (const mode of [0o777, 0o1777, 0o770, 0o720, 0o702, 0o750, 0o704]) {
    const home = newHome(t)
    mkdirSync(kept(home), { recursive: true, mode: 0o700 })
    chmodSync(kept(home), mode)
    assert.equal(cacheIn(home), undefined, mode.toString(8))
  }
  for (const above of ['', '.cache'])
    for (const mode of [0o777, 0o1777, 0o775, 0o720, 0o702]) {
      const home = newHome(t)
      mkdirSync(kept(home), { recursive: true, mode: 0o700 })
      chmodSync(join(home, above), mode)
      assert.equal(cacheIn(home), undefined, `${above} ${mode.toString(8)}`)
      const next = newHome(t)
      assert.equal(cacheIn(home, next), kept(next), 'the next home is')
    }
})

test('a link is not followed, wherever it leads', (t) => {
  const [home, other] = [newHome(t), newHome(t)]
  mkdirSync(kept(other), { recursive: true, mode: 0o700 })
  symlinkSync(join(other, '.cache'), join(home, '.cache'))
  assert.equal(cacheIn(home), undefined)
  const third = newHome(t)
  mkdirSync(join(third, '.cache'))
  symlinkSync(kept(other), kept(third))
  assert.equal(cacheIn(third), undefined)
  const file = newHome(t)
  symlinkSync('/dev/null', join(file, '.cache'))
  assert.equal(cacheIn(file), undefined)
})

test('a folder that another user prepared is not taken, nor one below it, and nothing is made there', {
  skip: isRoot ? false : 'only root can give a folder to another user: run as root',
}, (t) => {
  for (const prepared of ['', '.cache', join('.cache', 'berth-compiled')]) {
    const home = newHome(t)
    mkdirSync(kept(home), { recursive: true, mode: 0o700 })
    chownSync(join(home, prepared), ELSE, ELSE)
    assert.equal(cacheIn(home), undefined, prepared)
  }
  const empty = newHome(t)
  chownSync(empty, ELSE, ELSE)
  assert.equal(cacheIn(empty), undefined)
  assert.deepEqual(readdirSync(empty), [])
})

test('a start leaves the folder for temporary files as it was, and finds what it compiled before', (t) => {
  const temporary = newHome(t)
  chmodSync(temporary, 0o1777)
  const env = { PATH: process.env.PATH, TMPDIR: temporary, BERTH_DATA: newHome(t), NODE_DEBUG_NATIVE: 'COMPILE_CACHE' }
  const starts = [1, 2].map(() =>
    spawnSync(process.execPath, [join(root, 'bin', 'berth.mjs'), '--version'], { env, encoding: 'utf8' }),
  )
  for (const { status } of starts) assert.equal(status, 0)
  assert.deepEqual(readdirSync(temporary), [])
  assert.match(starts[1]!.stderr, /main\.ts.* was accepted/)
})
