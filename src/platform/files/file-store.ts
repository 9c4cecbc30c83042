/** The interface of file storage: a directory now, a bucket later. delivery/files implements it. docs/deploying-sites.md: Files. */
import type { Readable } from 'node:stream'

/** Hexadecimal digests, and the size in bytes. */
export type Digest = { sha256: string; sha1: string; size: number }

/** The content of a file, whole or in pieces. */
export type Pieces = AsyncIterable<Buffer> | Iterable<Buffer>

/** Announced properties of an upload. `max`: its maximum size in bytes. */
export type Announced = { sha1: string | undefined; size: number | undefined; max: number }

/**
 * Files of accounts, deduplicated within an account and never across accounts: no response reveals files of others. Every implementation passes
 * test/delivery/files/suite.ts.
 */
export type FileStore = {
  /** Stores content durably and returns its digest. Throws BadFile, and stores nothing then. */
  put(accountId: string, pieces: Pieces, announced: Announced): Promise<Digest>
  /** A stream of a file, or of a part of it (first and last byte, both included). Undefined when the account has no such file. */
  open(accountId: string, sha256: string, part?: { first: number; last: number }): Promise<Readable | undefined>
  /** The size of a file in bytes; undefined when the account has no such file. */
  sizeOf(accountId: string, sha256: string): Promise<number | undefined>
  /** Deletes a file; a missing one is not an error. With `writtenBefore` (in ms) a later upload of the same file stays. */
  remove(accountId: string, sha256: string, writtenBefore?: number): Promise<void>
  /** Deletes temporary files of killed processes, unchanged since a time (in ms). Returns how many. */
  removeCutShort(before: number): Promise<number>
  /** Every file of every account, in any order, for the sweep. */
  all(): AsyncIterable<{ accountId: string; sha256: string; size: number; writtenAt: number }>
}
