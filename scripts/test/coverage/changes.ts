/** What changed, line by line, as git says. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A run of lines that became another one; a count of 0 means that nothing was, or is, there: the run then comes after the line `from`. */
export type Hunk = { old: { from: number; count: number }; now: { from: number; count: number } }

/**
 * The files below the root that differ from the commit, committed or not, new ones too, each with its changed lines as they are now. Where
 * lines went, those around the gap. A file that is gone has none. Refuses a commit that is not there.
 */
export function changedLines(root: string, commit: string): Map<string, Set<number>> {
  const diff = git(root, ['diff', '-U0', '--no-renames', '--no-ext-diff', '--no-color', commit, '--'])
  const changed = new Map<string, Set<number>>()
  for (const part of diff.split(/^diff --git /m).slice(1)) {
    // Where the file is gone, its name is on the line of what it was.
    const file =
      /^\+\+\+ b\/(.*?)\t?$/m.exec(part)?.[1] ?? /^--- a\/(.*?)\t?$/m.exec(part)?.[1] ?? / b\/(.*)$/m.exec(part)![1]!
    const gone = /^\+\+\+ \/dev\/null/m.test(part)
    changed.set(file, new Set(gone ? [] : hunksOf(part).flatMap(({ now }) => linesOfRun(now))))
  }
  for (const file of git(root, ['ls-files', '--others', '--exclude-standard']).split('\n').filter(Boolean)) {
    const count = readFileSync(join(root, file), 'utf8').split('\n').length
    changed.set(file, new Set(Array.from({ length: count }, (_, at) => at + 1)))
  }
  return changed
}

/** Whether git has this commit: a clone may be shallow. */
export function hasCommit(root: string, commit: string): boolean {
  return spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: root, stdio: 'ignore' }).status === 0
}

/** How one file became another. */
export function hunksBetween(old: string, now: string): Hunk[] {
  const words = ['diff', '--no-index', '-U0', '--no-ext-diff', '--no-color', '--', old, now]
  return hunksOf(spawnSync('git', words, { encoding: 'utf8', maxBuffer: 1 << 28 }).stdout)
}

/** Lines of the newer text -> the lines of the older that they were, or came in the place of. */
export function oldLines(hunks: readonly Hunk[], lines: Iterable<number>): Set<number> {
  const old = new Set<number>()
  for (const line of lines) {
    let shift = 0
    let within: Hunk | undefined
    for (const hunk of hunks) {
      const first = hunk.now.count === 0 ? hunk.now.from + 1 : hunk.now.from
      if (line >= first && line < first + hunk.now.count) within = hunk
      if (line >= first + hunk.now.count) shift += hunk.old.count - hunk.now.count
    }
    if (within === undefined) old.add(line + shift)
    else for (const was of linesOfRun(within.old)) old.add(was)
  }
  return old
}

function hunksOf(diff: string): Hunk[] {
  const run = (from: string, count = '1') => ({ from: Number(from), count: Number(count) })
  return [...diff.matchAll(/^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/gm)].map(
    ([, oldFrom, oldCount, from, count]) => ({ old: run(oldFrom!, oldCount), now: run(from!, count) }),
  )
}

/** The lines of a run; of an empty one, those before and after the place where it would be. */
function linesOfRun({ from, count }: { from: number; count: number }): number[] {
  if (count === 0) return [from, from + 1].filter((line) => line > 0)
  return Array.from({ length: count }, (_, at) => from + at)
}

function git(root: string, words: string[]): string {
  const { status, stdout, stderr } = spawnSync('git', words, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 })
  if (status !== 0) throw new Error(`git ${words.join(' ')}: ${stderr.trim()}`)
  return stdout
}
