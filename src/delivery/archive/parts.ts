/** The names by which clients send an archive: whole, or in numbered parts that are joined in order. docs/deploying-sites.md: Archives. */
import { addFault, type Report } from '../outputs/faults.ts'
import { shown } from '../outputs/paths.ts'
import { ARCHIVE_LIMITS } from './limits.ts'

const WHOLE = '.vercel/source.tgz'
const PART = /^part([1-9][0-9]{0,3})$/

/** Whether a path is of an archive, also where it is none of its parts. Clients send no other file by such a name. */
export function isOfArchive(path: string): boolean {
  return path.startsWith(WHOLE)
}

/** Puts what is of an archive in order. Reports parts that are missing, and names that are no part. */
export function orderParts<T extends { path: string }>(entries: readonly T[], report: Report): T[] {
  if (entries.length > ARCHIVE_LIMITS.parts) {
    addFault(report, WHOLE, '', `has ${entries.length} parts. At most ${ARCHIVE_LIMITS.parts} are allowed.`)
    return []
  }
  const numbered = entries.map((entry) => ({ entry, number: numberOf(entry.path) }))
  const unknown = numbered.find(({ number }) => number === undefined)
  if (unknown !== undefined) {
    addFault(
      report,
      shown(unknown.entry.path),
      '',
      `is no part of an archive: those are ${WHOLE}.part1, .part2 and so on.`,
    )
    return []
  }
  const parts = numbered.sort((one, other) => one.number! - other.number!)
  const isWhole = parts[0]?.number === 0
  if (isWhole && parts.length > 1) addFault(report, WHOLE, '', 'is there whole and in parts. Send one of the two.')
  const missing = parts.findIndex(({ number }, at) => number !== at + 1)
  if (!isWhole && missing >= 0)
    addFault(
      report,
      [WHOLE, `part${missing + 1}`].join('.'),
      '',
      'is missing: parts are numbered from 1. Send all of them.',
    )
  return parts.map(({ entry }) => entry)
}

/** 0: the whole archive. */
function numberOf(path: string): number | undefined {
  if (path === WHOLE) return 0
  const number = path.startsWith(`${WHOLE}.`) ? PART.exec(path.slice(WHOLE.length + 1))?.[1] : undefined
  return number === undefined ? undefined : Number(number)
}
