/** Names of an archive from a client: one file, or numbered parts that are joined in order. docs/deploying-sites.md: Archives. */
import { addError, type Report } from '../outputs/faults.ts'
import { shown } from '../outputs/paths.ts'
import { ARCHIVE_LIMITS } from './limits.ts'

const WHOLE = '.vercel/source.tgz'
const PART = /^part([1-9][0-9]{0,3})$/

/** Returns whether a path belongs to an archive, even with an invalid part number. Clients use such names for archives only. */
export function isOfArchive(path: string): boolean {
  return path.startsWith(WHOLE)
}

/** Sorts the parts of an archive. Reports missing parts and invalid names. */
export function orderParts<T extends { path: string }>(entries: readonly T[], report: Report): T[] {
  if (entries.length > ARCHIVE_LIMITS.parts) {
    addError(report, WHOLE, '', `has ${entries.length} parts. At most ${ARCHIVE_LIMITS.parts} are allowed.`)
    return []
  }
  const numbered = entries.map((entry) => ({ entry, number: numberOf(entry.path) }))
  const unknown = numbered.find(({ number }) => number === undefined)
  if (unknown !== undefined) {
    addError(
      report,
      shown(unknown.entry.path),
      '',
      `is not a part of an archive: those are ${WHOLE}.part1, .part2 and so on.`,
    )
    return []
  }
  const parts = numbered.sort((a, b) => a.number! - b.number!)
  const isWhole = parts[0]?.number === 0
  if (isWhole && parts.length > 1) addError(report, WHOLE, '', 'is there whole and in parts. Send one of the two.')
  const missing = parts.findIndex(({ number }, at) => number !== at + 1)
  if (!isWhole && missing >= 0)
    addError(
      report,
      [WHOLE, `part${missing + 1}`].join('.'),
      '',
      'is missing: parts are numbered from 1. Send all of them.',
    )
  return parts.map(({ entry }) => entry)
}

/** 0 for an archive in one file. */
function numberOf(path: string): number | undefined {
  if (path === WHOLE) return 0
  const number = path.startsWith(`${WHOLE}.`) ? PART.exec(path.slice(WHOLE.length + 1))?.[1] : undefined
  return number === undefined ? undefined : Number(number)
}
