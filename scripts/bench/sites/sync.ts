/** A deploy of a folder of small files, compared with `rsync` of the same files to the same disk. */

import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram, type Target } from '../children.ts'
import type { Bench } from '../measure.ts'
import { type Spread, spread } from '../rounds.ts'
import { deployFolder } from './deploy.ts'
import { has } from './file-servers.ts'

const FILES = 1000
const BYTES = 10_000
const ROUNDS = 5

/** Milliseconds of each, and ratios taken round by round. `again`: the same files with another `meta`. */
export type Synced = {
  first: Spread
  again: Spread
  againOfFirst: Spread
  rsync: Spread | undefined
  ofRsync: Spread | undefined
}

/** Deploys new files in each round, and the same ones once more. */
export async function measureDeploys(
  { say }: Bench,
  service: Target,
  { folder, project }: { folder: string; project: string },
): Promise<Synced> {
  const hasRsync = has('rsync')
  if (!hasRsync) say('rsync is not installed: deploys are not compared with it')
  const rounds: { first: number; again: number; rsync: number | undefined }[] = []
  for (let round = 0; round < ROUNDS; round++) {
    say(`deploy of ${FILES} files: round ${round + 1} of ${ROUNDS}`)
    const from = makeFolder(join(folder, `from-${round}`))
    const deploy = (meta: Record<string, string>) => timeOf(() => deployFolder(service, from, { project, meta }))
    const copy = () => timeOf(() => runProgram('rsync', ['-a', '--fsync', `${from}/`, join(folder, `to-${round}`)]))
    // Who goes first changes from round to round.
    const before = hasRsync && round % 2 === 0 ? await copy() : undefined
    const first = await deploy({ round: `${round}` })
    const rsync = before ?? (hasRsync ? await copy() : undefined)
    rounds.push({ first, again: await deploy({ round: `${round} again` }), rsync })
  }
  return {
    first: spread(rounds.map(({ first }) => first)),
    again: spread(rounds.map(({ again }) => again)),
    againOfFirst: spread(rounds.map(({ first, again }) => again / first)),
    rsync: hasRsync ? spread(rounds.map(({ rsync }) => rsync!)) : undefined,
    ofRsync: hasRsync ? spread(rounds.map(({ first, rsync }) => first / rsync!)) : undefined,
  }
}

function makeFolder(folder: string): string {
  mkdirSync(folder)
  for (let at = 0; at < FILES; at++) writeFileSync(join(folder, `file-${at}.bin`), randomBytes(BYTES))
  return folder
}

async function timeOf(run: () => Promise<unknown>): Promise<number> {
  const before = performance.now()
  await run()
  return performance.now() - before
}
