/**
 * `npm run store-fixture -- <commit> …`: keeps the store that the Berth of a commit writes, as a fixture that every later version
 * must open (docs/upgrading.md: Older databases). The commit is checked out and installed in a folder of its own. On each
 * engine its program is started and filled through its API. The store, its keyring and what the program answered go to
 * `test/fixtures/stores/<commit>/<engine>/`. Needs Debian's `postgresql` and `postgresql-client`.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keepStore } from './store-fixture/keep.ts'

const root = join(import.meta.dirname, '..')
const FIXTURES = join(root, 'test', 'fixtures', 'stores')

const commits = process.argv.slice(2)
if (commits.length === 0) {
  console.error('usage: npm run store-fixture -- <commit> …')
  process.exit(64)
}
for (const commit of commits) await makeFixture(commit)

/** Rewrites the folder of a commit. */
async function makeFixture(name: string): Promise<void> {
  const commit = git('rev-parse', '--short=7', `${name}^{commit}`)
  const scratch = mkdtempSync(join(tmpdir(), 'berth-fixture-'))
  // PostgreSQL runs as a user of its own.
  chmodSync(scratch, 0o755)
  const checkout = join(scratch, 'checkout')
  try {
    git('worktree', 'add', '--detach', checkout, commit)
    console.log(`${commit}: installing what it needs`)
    execFileSync(process.execPath, ['scripts/install.mjs', '--omit=dev'], { cwd: checkout, stdio: 'inherit' })
    for (const engine of ['sqlite', 'postgres'] as const) {
      const to = join(FIXTURES, commit, engine)
      rmSync(to, { recursive: true, force: true })
      mkdirSync(to, { recursive: true })
      const answers = await keepStore({ checkout, engine, scratch: join(scratch, engine), to })
      console.log(`${commit}: ${engine}, ${answers} answers`)
    }
  } finally {
    git('worktree', 'remove', '--force', checkout)
    rmSync(scratch, { recursive: true, force: true })
  }
}

function git(...words: string[]): string {
  return execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim()
}
