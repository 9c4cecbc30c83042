/** Wire types for the search. docs/console.md: Search. */
import type { Static } from 'typebox'
import { Type } from '../../platform/schema/builder.ts'
import { OneOf } from '../../platform/schema/fields.ts'

export const KINDS = ['project', 'deployment', 'domain', 'variable', 'person', 'integration', 'app'] as const
export type Kind = (typeof KINDS)[number]

export const MAX_RESULTS_PER_KIND = 20

export const SearchQuery = Type.Object({
  q: Type.String({
    minLength: 1,
    maxLength: 100,
    pattern: '\\S',
    description: 'part of a name, of a key, or of an email; not only spaces. It is blind to case',
  }),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_RESULTS_PER_KIND,
      description: 'most results of one kind, 5 when not given',
    }),
  ),
})
export type SearchQuery = Static<typeof SearchQuery>

export const SearchResult = Type.Object(
  {
    kind: OneOf(...KINDS),
    name: Type.String({
      description:
        'of a project or a domain, the host name of a deployment, the key of a variable, a username, the slug of an integration or an app',
    }),
    title: Type.Optional(
      Type.String({
        description:
          'the display name of a user, an integration or an app; the first line of the commit message of a deployment',
      }),
    ),
    commitSha: Type.Optional(Type.String({ description: 'of a deployment, 64 characters of it at most' })),
    email: Type.Optional(Type.String({ description: 'of a user' })),
    id: Type.Optional(
      Type.String({
        description:
          'of a project, a deployment, a user, an installation or an app. A key has no id: it may have several values',
      }),
    ),
    project: Type.Optional(
      Type.Object(
        { id: Type.String(), name: Type.String() },
        { description: 'the project of a deployment, a domain or a variable' },
      ),
    ),
  },
  { title: 'SearchResult' },
)
export type SearchResult = Static<typeof SearchResult>

export const SearchResults = Type.Object({
  results: Type.Array(SearchResult),
  more: Type.Array(OneOf(...KINDS), { description: 'kinds with more results than `limit`' }),
  partial: Type.Array(OneOf(...KINDS), {
    description: 'kinds with too many entries in the account to search them all',
  }),
})
export type SearchResults = Static<typeof SearchResults>
