/** TABLE how much an archive may be, besides what its files may be (delivery/protocol/output-limits.ts). docs/deploying-sites.md: Archives. */
import { READERS } from '../../readers.ts'
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'

export const ARCHIVE_LIMITS = {
  /** Parts, and their compressed bytes together. Bytes that do not compress grow a little. */
  parts: 100,
  packedBytes: OUTPUT_LIMITS.bytes + 16 * 1024 ** 2,
  /** Headers of any kind: an entry has at most two more for long names, and folders that hold files are listed too. */
  headers: 5 * OUTPUT_LIMITS.files,
  /** Characters of all paths together: those of the files, and those of the folders above them. */
  paths: 2 * OUTPUT_LIMITS.paths,
  /** Bytes of one extended header and of all, and records in one: parsing costs by these. */
  extendedBytes: READERS['attributes in an archive'].bytes,
  extendedBytesInAll: 16 * 1024 ** 2,
  records: READERS['attributes in an archive'].parts,
  /** Zeros behind the end. GNU tar fills its last record, which people set to 1 MiB at the most. */
  padding: 1024 ** 2,
} as const
