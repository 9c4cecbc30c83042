/** The commit of the last release: the part `mutations` of `npm run verify` judges the lines that changed since. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hasCommit } from '../test/coverage/changes.ts'

/** Where a clone has no tag of the version of package.json: the commit that the last release was made of. */
const RELEASED = 'f5ca9e6'

/** The tag of the version in package.json, or the commit that is kept here. */
export function releaseOf(root: string): string {
  const tag = `v${JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version}`
  return hasCommit(root, tag) ? tag : RELEASED
}
