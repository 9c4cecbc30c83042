/** The field `files` of a request that creates a deployment. docs/deploying-sites.md: File lists. */
import type { Static } from 'typebox'
import { Type } from '../../platform/schema/builder.ts'
import { OneOf } from '../../platform/schema/fields.ts'
import { READERS } from '../../readers.ts'
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'

/** TABLE limits of inline content in a request. */
export const INLINE_LIMITS = {
  /** The body limit of a create; longer text is not decoded. */
  characters: READERS['file list'].bytes,
  /** The capacity of an 8 MiB body in base64, so that the encoding does not matter. Clients send at most 5 MiB. */
  bytes: 6 * 1024 ** 2,
  /** Each is written and synced while the client waits. */
  files: 1000,
} as const

/** The schema checks types and lengths. `readFileList` checks paths, modes and digests, and names the path in its message. */
export const FileEntries = Type.Array(
  Type.Object({
    file: Type.String({ maxLength: 4 * OUTPUT_LIMITS.path, description: 'the path, from the project folder' }),
    sha: Type.Optional(Type.String({ maxLength: 64, description: 'the SHA-1 of a file that is uploaded apart' })),
    size: Type.Optional(Type.Integer({ minimum: 0, description: 'its size in bytes' })),
    mode: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 0xffff, description: 'type and permissions (POSIX st_mode)' }),
    ),
    // No length limit: the body has one, and counting the characters of 8 MiB takes long.
    data: Type.Optional(Type.String({ description: 'the content, in place of `sha`' })),
    encoding: Type.Optional(OneOf('base64', 'utf-8')),
  }),
  { maxItems: OUTPUT_LIMITS.files, description: 'the files, links and empty folders of the deployment' },
)
export type FileEntries = Static<typeof FileEntries>
