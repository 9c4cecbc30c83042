/** TABLE the worst archives of each kind, at a share of the limits. */
import { gzipSync } from 'node:zlib'
import { readArchive } from '../../../src/delivery/archive/archive.ts'
import type { Worst } from '../../attacks/costs.ts'
import { END, file, header, inPieces, pax, record } from './tar.ts'

function repeat(count: number, make: (at: number) => Buffer): Buffer {
  return Buffer.concat(Array.from({ length: Math.round(count) }, (_, at) => make(at)))
}

/** Equal entries. */
function same(count: number, entry: Buffer): Buffer {
  return repeat(count, () => entry)
}

const RECORDS = record('a', 'b').repeat(250)

const ARCHIVES: Readonly<Record<string, (share: number) => Buffer>> = {
  'empty files': (share) => repeat(share * 20_000, (at) => header({ name: `f${at}` })),
  'paths of 60 folders': (share) =>
    repeat(share * 4000, (at) =>
      Buffer.concat([pax({ path: `${at}/${`${'a'.repeat(14)}/`.repeat(60)}${at}` }), file('n')]),
    ),
  'attributes by the hundred': (share) => same(share * 3000, file('x', RECORDS, { flag: 'g' })),
  'attributes as long as may be': (share) =>
    same(share * 250, file('x', record('comment', 'é'.repeat(32_000)), { flag: 'g' })),
  'content of 20 MB': (share) => file('f', Buffer.alloc(share * 20 * 1024 ** 2)),
  'zeros behind the end': (share) => Buffer.alloc(share * 1024 ** 2 - 1024),
}

export const WORST: Worst = Object.fromEntries(
  Object.entries(ARCHIVES).map(([name, make]) => [
    name,
    (share) => {
      const packed = gzipSync(Buffer.concat([make(share), END]), { level: 1 })
      return async () => {
        for await (const { body } of readArchive(inPieces(packed))) for await (const _ of body);
      }
    },
  ]),
)
