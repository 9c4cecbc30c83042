/** The routing manifest of a deployment, compiled by delivery/outputs/. docs/deploying-sites.md: Routing manifest. */
import type { Static } from 'typebox'
import { Type } from '../../platform/schema/builder.ts'
import { OneOf } from '../../platform/schema/fields.ts'

/** The current version. A sites server refuses unknown versions, so add fields rather than change them. */
export const ROUTING_MANIFEST_VERSION = 1

/** TABLE groups of routes. `none` contains the routes before the first `handle`. */
export const PHASES = ['none', 'filesystem', 'resource', 'miss', 'rewrite', 'hit', 'error'] as const
export type Phase = (typeof PHASES)[number]

/** A tenant's regular expression in JavaScript syntax. Only routing workers run it: docs/deploying-sites.md: Patterns. */
const Pattern = Type.String({ description: 'a regular expression of a tenant' })
const TextOrNumber = Type.Unsafe<string | number>({ type: ['string', 'number'] })

/** Comparisons with a value; all present fields must hold. */
const Match = Type.Object({
  pattern: Type.Optional(Pattern),
  eq: Type.Optional(TextOrNumber),
  neq: Type.Optional(TextOrNumber),
  inc: Type.Optional(Type.Array(Type.String())),
  ninc: Type.Optional(Type.Array(Type.String())),
  pre: Type.Optional(Type.String()),
  suf: Type.Optional(Type.String()),
  gt: Type.Optional(Type.Number()),
  gte: Type.Optional(Type.Number()),
  lt: Type.Optional(Type.Number()),
  lte: Type.Optional(Type.Number()),
})
export type Match = Static<typeof Match>

/** A condition of `has` or `missing`. Without `match` any value is accepted. Header names are in lower case. */
const Condition = Type.Object({
  type: OneOf('host', 'header', 'cookie', 'query'),
  key: Type.String({ description: 'empty for a host' }),
  match: Type.Optional(Match),
})
export type Condition = Static<typeof Condition>

const Header = Type.Object({ name: Type.String({ description: 'in lower case' }), value: Type.String() })
export type Header = Static<typeof Header>

const Transform = Type.Object({
  target: OneOf('request.headers', 'request.query', 'request.path', 'response.headers'),
  op: OneOf('append', 'set', 'delete'),
  match: Match,
  args: Type.Array(Type.String()),
})
export type Transform = Static<typeof Transform>

const Route = Type.Object({
  rule: Type.Integer({ description: 'its place in the routes of config.json' }),
  source: Pattern,
  caseSensitive: Type.Optional(Type.Boolean()),
  methods: Type.Optional(Type.Array(Type.String({ description: 'in upper case' }))),
  has: Type.Optional(Type.Array(Condition)),
  missing: Type.Optional(Type.Array(Condition)),
  dest: Type.Optional(Type.String()),
  headers: Type.Optional(Type.Array(Header)),
  status: Type.Optional(Type.Integer()),
  continue: Type.Optional(Type.Boolean()),
  override: Type.Optional(Type.Boolean()),
  check: Type.Optional(Type.Boolean()),
  important: Type.Optional(Type.Boolean()),
  transforms: Type.Optional(Type.Array(Transform)),
  locale: Type.Optional(
    Type.Object({
      cookie: Type.Optional(Type.String()),
      redirects: Type.Array(Type.Object({ locale: Type.String({ description: 'in lower case' }), to: Type.String() })),
    }),
  ),
  middleware: Type.Optional(Type.String({ description: 'the name of a function' })),
  mitigate: Type.Optional(OneOf('challenge', 'deny')),
})
export type Route = Static<typeof Route>

const StaticFile = Type.Object({
  path: Type.String({ description: 'begins with a slash, not percent-encoded' }),
  digest: Type.String({ description: 'SHA-256 of its content, in hex' }),
  size: Type.Integer(),
  contentType: Type.String(),
})
export type StaticFile = Static<typeof StaticFile>

/** A function bundle. Several paths may share one. `unsupported`: no version of the sites server runs its kind. */
const FunctionBundle = Type.Object({
  name: Type.String({ description: 'the path of its folder below functions/, without .func' }),
  kind: OneOf('node', 'edge', 'unsupported'),
  runtime: Type.String(),
  entrypoint: Type.String({ description: 'a path in the function' }),
  streaming: Type.Boolean(),
  webApi: Type.Boolean(),
  helpers: Type.Boolean(),
  sourceMaps: Type.Optional(Type.Boolean({ description: 'stack traces name the places of the sources' })),
  memory: Type.Optional(Type.Integer({ description: 'MB' })),
  maxDuration: Type.Optional(Type.Integer({ description: 'seconds' })),
  files: Type.Optional(
    Type.Object(
      { digest: Type.String(), size: Type.Integer() },
      { description: 'the list of what it has on disk. Missing from older outputs, which cannot run' },
    ),
  ),
})
export type FunctionBundle = Static<typeof FunctionBundle>

const Prerender = Type.Object({
  expiration: Type.Unsafe<number | false>({ type: ['integer', 'boolean'] }),
  staleExpiration: Type.Optional(Type.Integer()),
  group: Type.Optional(Type.Integer()),
  bypassToken: Type.Optional(Type.String()),
  fallback: Type.Optional(Type.Object({ digest: Type.String(), size: Type.Integer(), contentType: Type.String() })),
  allowQuery: Type.Optional(Type.Array(Type.String())),
  allowHeader: Type.Optional(Type.Array(Type.String())),
  initialStatus: Type.Optional(Type.Integer()),
  initialHeaders: Type.Array(Header),
  passQuery: Type.Boolean(),
  /** Invoked with the path of its output instead of the visitor's: outputs of Next.js. */
  concrete: Type.Boolean(),
  exposeErrBody: Type.Boolean(),
  partialFallback: Type.Boolean(),
  bypassFor: Type.Optional(Type.Array(Condition)),
  chain: Type.Optional(Type.Object({ outputPath: Type.String(), headers: Type.Array(Header) })),
})
export type Prerender = Static<typeof Prerender>

/** Returns whether a page is prerendered in part. Its function renders all of it: docs/prerendering.md. */
export function isPartial({ chain, fallback }: Pick<Prerender, 'chain' | 'fallback'>): boolean {
  return chain !== undefined || fallback?.contentType.startsWith('application/x-nextjs-pre-render') === true
}

const FunctionPath = Type.Object({
  path: Type.String({ description: 'begins with a slash, not percent-encoded' }),
  bundle: Type.Integer({ description: 'its place in the list of functions' }),
  prerender: Type.Optional(Prerender),
})
export type FunctionPath = Static<typeof FunctionPath>

const Images = Type.Object({
  sizes: Type.Array(Type.Integer()),
  domains: Type.Array(Type.String()),
  qualities: Type.Optional(Type.Array(Type.Integer())),
  formats: Type.Optional(Type.Array(Type.String())),
  minimumCacheTTL: Type.Optional(Type.Integer({ description: 'seconds' })),
  localPatterns: Type.Optional(
    Type.Array(Type.Object({ pathname: Type.Optional(Pattern), search: Type.Optional(Type.String()) })),
  ),
  remotePatterns: Type.Optional(
    Type.Array(
      Type.Object({
        protocol: Type.Optional(Type.String()),
        hostname: Pattern,
        port: Type.Optional(Type.String()),
        pathname: Type.Optional(Pattern),
        search: Type.Optional(Type.String()),
      }),
    ),
  ),
  dangerouslyAllowSVG: Type.Optional(Type.Boolean()),
  contentSecurityPolicy: Type.Optional(Type.String()),
  contentDispositionType: Type.Optional(Type.String()),
})
export type Images = Static<typeof Images>

export const RoutingManifest = Type.Object(
  {
    version: Type.Literal(ROUTING_MANIFEST_VERSION),
    phases: Type.Object({
      none: Type.Array(Route),
      filesystem: Type.Array(Route),
      resource: Type.Array(Route),
      miss: Type.Array(Route),
      rewrite: Type.Array(Route),
      hit: Type.Array(Route),
      error: Type.Array(Route),
    } satisfies Record<Phase, unknown>),
    wildcards: Type.Array(Type.Object({ domain: Type.String({ description: 'in lower case' }), value: Type.String() })),
    files: Type.Array(StaticFile),
    functions: Type.Array(FunctionBundle),
    functionPaths: Type.Array(FunctionPath),
    images: Type.Optional(Images),
    crons: Type.Array(Type.Object({ path: Type.String(), schedule: Type.String() })),
    framework: Type.Optional(Type.Object({ slug: Type.String(), version: Type.String() })),
  },
  { title: 'RoutingManifest' },
)
export type RoutingManifest = Static<typeof RoutingManifest>
