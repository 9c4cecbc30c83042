/** TABLE the worst file lists of each kind, at a share of the limits. */
import type { FileEntries } from '../../../src/delivery/deploys/file-entries.ts'
import { readFileList } from '../../../src/delivery/deploys/file-list.ts'
import type { Worst } from '../../attacks/costs.ts'

const MIB = 1024 ** 2

function repeat(count: number, make: (at: number) => FileEntries[number]): FileEntries {
  return Array.from({ length: Math.round(count) }, (_, at) => make(at))
}

function shaOf(at: number): string {
  return at.toString(16).padStart(40, '0')
}

const LISTS: Readonly<Record<string, (share: number) => FileEntries>> = {
  files: (share) => repeat(share * 20_000, (at) => ({ file: `f${at}`, size: at, mode: 33188, sha: shaOf(at) })),
  'paths of 60 folders': (share) =>
    repeat(share * 4000, (at) => ({ file: `${at}/${`${'a'.repeat(14)}/`.repeat(60)}${at}`, sha: shaOf(at) })),
  faults: (share) => repeat(share * 20_000, (at) => ({ file: `f${at}/..`, sha: 'x' })),
  'names of one hash and length': (share) => repeat(share * 20_000, () => ({ file: 'f', sha: shaOf(1) })),
  parts: (share) => repeat(share * 20_000, (at) => ({ file: `.vercel/source.tgz.part${at + 1}`, sha: shaOf(at) })),
  'content in base64': (share) => [{ file: 'f', data: 'QUFB'.repeat(share * 2 * MIB), encoding: 'base64' }],
  'content that is not base64': (share) => [{ file: 'f', data: '\n'.repeat(share * 8 * MIB), encoding: 'base64' }],
  'content as text': (share) => [{ file: 'f', data: 'é'.repeat(share * 4 * MIB) }],
  'content by the thousand': (share) => repeat(share * 1000, (at) => ({ file: `f${at}`, data: 'é'.repeat(8000) })),
}

export const WORST: Worst = Object.fromEntries(
  Object.entries(LISTS).map(([name, make]) => [
    name,
    (share) => {
      const list = make(share)
      return () => readFileList(list)
    },
  ]),
)
