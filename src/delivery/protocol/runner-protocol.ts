/** What a runner and the control plane exchange. docs/building.md: Runner protocol. */
import type { Static } from 'typebox'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, OneOf } from '../../platform/schema/fields.ts'

/** At the listener for proxies. `lease` needs BERTH_RUNNER_TOKEN; everything below a lease needs the token of that lease. */
export const LEASE_PATH = '/runner/v1/builds/lease'
/** Paths below a lease: POST `beat`, `log`, `missing`, `finish`; GET `source`, `source/{sha256}`; PUT `output/{sha256}`. */
export function leasePath({ deploymentId, attempt }: Pick<Lease, 'deploymentId' | 'attempt'>, rest: string): string {
  return `/runner/v1/builds/${deploymentId}/${attempt}/${rest}`
}

/** TABLE times of a lease in milliseconds. */
export const LEASE_TIMES = {
  /** A lease without a beat for this time is lost. The runner ends its sandbox earlier. */
  leaseMs: 30_000,
  beatMs: 5000,
  /** The longest that a request for a lease is held open. A runner counts its lease from the request, so it must be much shorter than a lease. */
  pollMs: 15_000,
  /** The longest attempt of a build. */
  buildMs: 45 * 60_000,
} as const

const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })
const Text = Type.String({ maxLength: 4096 })

/** The request for a lease. `runner`: a random name of the process, sent with each request. */
export const LeaseRequest = Type.Object({
  runner: Type.String({ pattern: '^[0-9A-Za-z]{16}$' }),
  hostname: Type.String({ maxLength: 253 }),
  version: Type.String({ maxLength: 100 }),
})
export type LeaseRequest = Static<typeof LeaseRequest>

/** Settings of the project, as the project had them at the create. */
export const BuildSettings = Type.Object({
  framework: Nullable(Text),
  buildCommand: Nullable(Text),
  devCommand: Nullable(Text),
  installCommand: Nullable(Text),
  outputDirectory: Nullable(Text),
  rootDirectory: Nullable(Text),
  commandForIgnoringBuildStep: Nullable(Text),
  nodeVersion: Type.String({ maxLength: 10 }),
  sourceFilesOutsideRootDirectory: Type.Boolean(),
  /** The create asked for a build without the build cache. */
  skipsCache: Type.Optional(Type.Boolean()),
})
export type BuildSettings = Static<typeof BuildSettings>

/** A build that a runner holds. 200; 204 without a body: no build waits. */
export const Lease = Type.Object({
  deploymentId: Type.String({ maxLength: 100 }),
  attempt: Type.Integer({ minimum: 1 }),
  token: Type.String({ maxLength: 100 }),
  timeLimitMs: Type.Integer({ minimum: 1 }),
  project: Type.Object({ id: Text, name: Text, accountId: Text }),
  settings: BuildSettings,
  target: OneOf('production', 'preview'),
  /** Custom environment by its slug, if the deployment has one. */
  environment: Nullable(Text),
  /** The git branch of the deployment; null: none. A control plane of an earlier version does not send it. */
  branch: Type.Optional(Nullable(Text)),
  /** The whole environment of the build: variables of the project, of the create, and system variables. */
  env: Type.Unsafe<Record<string, string>>(Type.Object({}, { additionalProperties: Type.String() })),
  /** Keys of `env` whose values are masked in the log. */
  masked: Type.Array(Type.String()),
})
export type Lease = Static<typeof Lease>

/** The source of a build, as `GET …/source` returns it: a list of these. A link has a target and no digest; a folder neither. */
export const SourceEntry = Type.Object({
  path: Type.String(),
  kind: OneOf('file', 'link', 'folder'),
  mode: Type.Integer(),
  size: Type.Integer(),
  digest: Type.Optional(Sha256),
  target: Type.Optional(Type.String()),
})
export type SourceEntry = Static<typeof SourceEntry>

/** The answer to `beat` and `log`. 409 `lease_lost`: another attempt has the build, or it has ended; the runner ends its sandbox and reports nothing more. */
export const LeaseState = Type.Object({
  /** Serial of the first line that the control plane does not have. */
  acknowledged: Type.Integer({ minimum: 0 }),
  /** How long the lease still holds. */
  leaseMs: Type.Integer(),
  /** A user canceled the build: the runner ends its sandbox and finishes with `canceled`. */
  cancel: Type.Boolean(),
})
export type LeaseState = Static<typeof LeaseState>

/** `building`: the source is in place, and the builder starts. */
export const Beat = Type.Object({ step: OneOf('preparing', 'building', 'uploading') })
export type Beat = Static<typeof Beat>

export const LINE_TYPES = ['command', 'stdout', 'stderr', 'fatal'] as const
export const LogLine = Type.Object({
  type: OneOf(...LINE_TYPES),
  /** When the runner read it, in ms. Never decreases within a build. */
  date: Type.Integer({ minimum: 0 }),
  text: Type.String({ maxLength: 16_384 }),
})
export type LogLine = Static<typeof LogLine>

/** Lines by their serial numbers: `first` is that of `lines[0]`. Lines that the control plane has are skipped; a gap is refused with 400. */
export const LogBatch = Type.Object({
  first: Type.Integer({ minimum: 0 }),
  lines: Type.Array(LogLine, { minItems: 1, maxItems: 1000 }),
})
export type LogBatch = Static<typeof LogBatch>

/** `POST …/missing` answers which of these files of the output must be sent. */
export const FileNames = Type.Object({ sha256: Type.Array(Sha256, { maxItems: 1000 }) })
export type FileNames = Static<typeof FileNames>

/** TABLE how a build fails → who can fix it. docs/building.md: Errors. */
export const BUILD_ERRORS = {
  BUILD_FAILED: 'tenant',
  BUILD_TIMED_OUT: 'tenant',
  BUILD_OUT_OF_MEMORY: 'tenant',
  BUILD_OUT_OF_DISK: 'tenant',
  BUILD_OUTPUT_REFUSED: 'tenant',
  INVALID_PROJECT_SETTINGS: 'tenant',
  BUILDER_UNAVAILABLE: 'runner',
  RUNNER_FAILED: 'runner',
  RUNNER_LOST: 'runner',
} as const
export type BuildError = keyof typeof BUILD_ERRORS

/** The report that ends a build. `entries` of `succeeded`: the folder `.vercel/output`, paths from the project folder. */
export const Finish = Type.Union([
  Type.Object({ outcome: OneOf('succeeded'), builder: Text, entries: Type.Array(SourceEntry, { maxItems: 20_000 }) }),
  Type.Object({
    outcome: OneOf('failed'),
    code: Type.Unsafe<BuildError>(OneOf(...(Object.keys(BUILD_ERRORS) as BuildError[]))),
    message: Type.String({ minLength: 1, maxLength: 2000 }),
  }),
  Type.Object({ outcome: OneOf('canceled'), reason: Type.String({ maxLength: 2000 }) }),
])
export type Finish = Static<typeof Finish>
