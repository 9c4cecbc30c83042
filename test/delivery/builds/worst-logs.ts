/** TABLE the worst chunks of a log, at a share of the limits. docs/building.md: Logs. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Deps } from '../../../src/context.ts'
import { MAX_LOG_BYTES } from '../../../src/delivery/builds/log.ts'
import { MERGE, putChunk, readChunk } from '../../../src/delivery/builds/log-chunks.ts'
import { openFolderStore } from '../../../src/delivery/files/folder-store.ts'
import type { Worst } from '../../attacks/costs.ts'

/** The longest line of a runner. */
const LONGEST = 16_384

const LOGS: Readonly<Record<string, (share: number) => string[]>> = {
  'long lines that are alike': (share) =>
    Array(Math.round((share * MAX_LOG_BYTES) / LONGEST)).fill('a'.repeat(LONGEST)),
  'characters that JSON writes as six': (share) =>
    Array(Math.round((share * MAX_LOG_BYTES) / LONGEST)).fill('\x1b[m\x1b[m"\\'.repeat(LONGEST / 8)),
  'as many lines as are merged': (share) =>
    Array.from({ length: share * MERGE.lines }, () => randomBytes(30).toString('hex')),
}

/** A store of its own, which ends with the thread. */
function openStore(): Deps['files'] {
  const folder = mkdtempSync(join(tmpdir(), 'berth-worst-logs-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return openFolderStore(folder)
}

export const WORST: Worst = Object.fromEntries(
  Object.entries(LOGS).map(([name, make]) => [
    name,
    (share) => {
      const lines = make(share).map((text) => ({ type: 'stdout' as const, date: 1, text }))
      const files = openStore()
      return async () => {
        const { sha256 } = await putChunk({ files } as Deps, 'account', lines)
        await readChunk(files, { first: 0, account_id: 'account', sha256 })
      }
    },
  ]),
)
