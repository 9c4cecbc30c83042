/** What a line of the snapshot says of a project, in addition to its protection. docs/deploying-sites.md: Data of the sites server. */
import { Type } from '../../platform/schema/builder.ts'
import type { CachePurges } from '../../platform/verdict/cache-purges.ts'

/** Settings for responses. Missing from older control planes. */
export const Settings = Type.Object({
  directoryListing: Type.Optional(Type.Boolean()),
  protectedSourcemaps: Type.Optional(Type.Boolean()),
  optionsPaths: Type.Optional(Type.Array(Type.String())),
  skewProtection: Type.Optional(
    Type.Object({
      maxAge: Type.Number(),
      boundaryAt: Type.Optional(Type.Number()),
      allowedDomains: Type.Optional(Type.Array(Type.String())),
    }),
  ),
  dataCacheDisabled: Type.Optional(Type.Boolean()),
  functionDefaults: Type.Optional(
    Type.Object({ maxDuration: Type.Optional(Type.Integer()), memory: Type.Optional(Type.Integer()) }),
  ),
})

const Tags = Type.Unsafe<CachePurges['tags']>({
  type: 'object',
  additionalProperties: {
    type: 'array',
    items: [{ type: 'integer' }, { enum: ['stale', 'gone'] }],
    minItems: 2,
    additionalItems: false,
  },
})
const OfTags = { gone: Type.Integer(), stale: Type.Integer(), tags: Tags }

/** What was purged of cached pages and data. Missing from older control planes. */
export const Purges = Type.Object({
  last: Type.Integer(),
  ...OfTags,
  environments: Type.Optional(
    Type.Unsafe<NonNullable<CachePurges['environments']>>({
      type: 'object',
      additionalProperties: Type.Object(OfTags),
    }),
  ),
})
