/** What sites servers report to the control plane of purges by functions. docs/data-cache.md: Purges. */
import type { Static } from 'typebox'
import { Type } from '../../platform/schema/builder.ts'
import { OneOf } from '../../platform/schema/fields.ts'
import { jsonReader } from '../../platform/schema/json-reader.ts'

/** POST: a purge of one environment of a project. The response has the purges of the project. */
export const PURGE_PATH = '/sites/v1/purges'

/** Tags of one purge, and the characters of one: Next.js cuts those of paths at 1024. */
export const MAX_PURGE_TAGS = 128
export const MAX_PURGE_TAG = 1100
/** Bytes of a report. */
export const MAX_PURGE_BYTES = 512 * 1024

const PurgeReport = Type.Object({
  projectId: Type.String({ minLength: 1, maxLength: 50 }),
  environment: Type.String({ pattern: '^[A-Za-z0-9_]{1,64}$' }),
  kind: OneOf('stale', 'gone'),
  tags: Type.Array(Type.String({ minLength: 1, maxLength: MAX_PURGE_TAG }), { minItems: 1, maxItems: MAX_PURGE_TAGS }),
})
export type PurgeReport = Static<typeof PurgeReport>

/** Parses a report. Returns a message if it is invalid. */
export const readPurgeReport = jsonReader(PurgeReport, 'The purge')
