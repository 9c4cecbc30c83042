/** TABLE limits of an archive, in addition to those of its files (delivery/protocol/output-limits.ts). docs/deploying-sites.md: Archives. */
import { READERS } from '../../readers.ts'
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'

export const ARCHIVE_LIMITS = {
  /** Parts, and their compressed bytes in total. Incompressible bytes grow slightly. */
  parts: 100,
  packedBytes: OUTPUT_LIMITS.bytes + 16 * 1024 ** 2,
  /** Headers of any kind: an entry has at most two more for long names, and directories are listed too. */
  headers: 5 * OUTPUT_LIMITS.files,
  /** Characters of all paths, of files and their parent directories. */
  paths: 2 * OUTPUT_LIMITS.paths,
  /** Bytes per extended header and in total, and records per header. They determine the cost of parsing. */
  extendedBytes: READERS['attributes in an archive'].bytes,
  extendedBytesInAll: 16 * 1024 ** 2,
  records: READERS['attributes in an archive'].parts,
  /** Zeros after the end. GNU tar fills its last record, usually up to 1 MiB. */
  padding: 1024 ** 2,
} as const
