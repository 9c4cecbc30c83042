/** Parser of file locations in arguments. docs/command-line.md. */
import { BUCKET_FORM, readBucket } from '../../platform/settings/backups.ts'
import { BadUsage, type BucketKind } from './command.ts'

export type FileLocation = { file: string } | { bucket: string; key: string }

/**
 * Parses a file, a directory, or a bucket location where `inBucket` allows it. An address such as `s3://` is never a file path. Throws BadUsage for
 * another or malformed address.
 */
export function parseFileLocation(text: string, inBucket?: BucketKind): FileLocation {
  const scheme = /^(s3:|[a-z][a-z0-9+.-]*:\/\/)/i.exec(text)?.[0]
  if (scheme === undefined) return { file: text }
  if (inBucket === undefined)
    throw new BadUsage(`"${text}" is an address, and this takes a file of this machine: write the path of one`)
  if (!text.startsWith('s3://')) throw new BadUsage(`"${text}" is neither a file nor in a bucket: ${BUCKET_FORM}`)
  const at = readBucket(text)
  if (at === undefined) throw new BadUsage(`"${text}" names no place in a bucket: ${BUCKET_FORM}`)
  if (inBucket === 'object' && (at.key === '' || at.key.endsWith('/')))
    throw new BadUsage(`"${text}" names no object of the bucket: write s3://bucket/key`)
  return at
}
