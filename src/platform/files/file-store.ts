/** Where the bytes of files are kept: a folder now, a bucket by the same interface. Types alone; delivery/files makes them. docs/deploying-sites.md: Files. */
import type { Readable } from 'node:stream'

/** A file as it is kept: hexadecimal digests, and its size in bytes. */
export type Digest = { sha256: string; sha1: string; size: number }

/** What a caller announced of a file. `most`: its greatest size in bytes. */
export type Announced = { sha1: string | undefined; size: number | undefined; most: number }

/**
 * Files of accounts, each once in its account and never shared with another: no answer tells what others have.
 * Every implementation passes test/delivery/files/suite.ts.
 */
export type FileStore = {
  /** Keeps the bytes of a stream and gives their digest, once they would survive a power cut. Throws BadFile, and keeps nothing then. */
  put(accountId: string, pieces: AsyncIterable<Buffer>, announced: Announced): Promise<Digest>
  /** The bytes of a file, or of a part of it (first and last byte, both included). Undefined when the account has no such file. */
  open(accountId: string, sha256: string, part?: { first: number; last: number }): Promise<Readable | undefined>
  /** The size of a file in bytes; undefined when the account has no such file. */
  sizeOf(accountId: string, sha256: string): Promise<number | undefined>
  /**
   * Removes a file; one that is not there is no fault. With `writtenBefore` (in ms) one that was put later stays: it was put again while somebody
   * decided to remove it.
   */
  remove(accountId: string, sha256: string, writtenBefore?: number): Promise<void>
  /** Removes what killed processes left of files that were being put or removed, once nothing changed it since a moment (in ms). Gives how many. */
  removeCutShort(before: number): Promise<number>
  /** Every file of every account, in no order: what the sweep compares with the rows. */
  all(): AsyncIterable<{ accountId: string; sha256: string; size: number; writtenAt: number }>
}
