/** Folders of another project: copied, and without the probes that they bring. docs/testing.md. */
import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { runInNewContext } from 'node:vm'
import type { Probe } from './probes.ts'

/** They put it into their pages, and look for it: another one would show a page of an earlier build. */
const MARK = 'RANDOMNESS_PLACEHOLDER'
export const MARKED = 'c0ffee1dea'
/** The newest version with the tag `canary`, which not every mirror of npm has. */
const CANARY = '16.5.0-canary.38'

/** Copies a folder, marks it, and pins its Next.js. Returns its probes, which the build does not see, and the settings that its project must have. */
export function prepareFolder(from: string, to: string): { probes: Probe[]; settings: object | undefined } {
  cpSync(from, to, { recursive: true, verbatimSymlinks: true })
  for (const name of readdirSync(to, { recursive: true, encoding: 'utf8' })) changeFile(join(to, name))
  const config = readConfig(join(to, 'vercel.json'))
  const {
    probes = readConfig(join(to, 'probes.json'))?.probes,
    projectSettings,
    uploadNowJson: _,
    ...rest
  } = config ?? {}
  if (config !== undefined) writeFileSync(join(to, 'vercel.json'), JSON.stringify(rest))
  rmSync(join(to, 'probes.json'), { force: true })
  return { probes: probes ?? [], settings: projectSettings }
}

/** Links a folder to a project, as the CLI does. */
export function linkFolder(folder: string, linked: object): void {
  mkdirSync(join(folder, '.vercel'), { recursive: true })
  writeFileSync(join(folder, '.vercel', 'project.json'), JSON.stringify(linked))
}

function changeFile(file: string): void {
  if (!lstatSync(file).isFile()) return
  const text = readFileSync(file, 'latin1')
  const marked = text.replaceAll(MARK, MARKED)
  const changed = basename(file) === 'package.json' ? marked.replace(/("next":\s*)"canary"/, `$1"${CANARY}"`) : marked
  if (changed !== text) writeFileSync(file, changed, 'latin1')
}

/** They have comments and commas that JSON has not, and are expressions of JavaScript. */
// biome-ignore lint/suspicious/noExplicitAny: it is a file of another project
function readConfig(file: string): any {
  return existsSync(file) ? runInNewContext(`(${readFileSync(file, 'utf8')})`) : undefined
}
