/**
 * TABLE Readers of external input: reader → maximum size and parts, source, and files. Input is bounded before it is read, so that no client decides
 * how long the event loop is blocked. docs/limits.md: Readers.
 */
export type Reader = {
  bytes: number
  /** The maximum number of parts: fields, pairs, records, items. Without a limit of its own, the number that fits into its bytes. */
  parts: number
  /**
   * The source. `anyone`: an unauthenticated client; `caller`: an authenticated one; `pieces`: the same, read in slices of some milliseconds;
   * `server`: a server that the service calls; `command`: a server that a command calls, in its own process.
   */
  from: 'anyone' | 'caller' | 'pieces' | 'server' | 'command'
  /** The files below `src` that read it. */
  files: readonly string[]
}

const KIB = 1024
const MIB = 1024 * KIB

/** Other formats are not read: no multipart form, no JWT outside the single sign-on library, no client certificate, no incoming webhook. */
export const READERS = {
  headers: {
    bytes: 16 * KIB,
    parts: 2000,
    from: 'anyone',
    files: [
      'platform/http/parse-request.ts',
      'platform/http/failure-limits.ts',
      'platform/access/authenticate.ts',
      'platform/tracing/traces.ts',
      'platform/verdict/host-name.ts',
      'platform/verdict/plain-answer.ts',
      'integrations/oauth/client.ts',
      'sites/visitors/visit.ts',
    ],
  },
  'headers of a visitor': {
    bytes: 16 * KIB,
    parts: 16 * KIB,
    from: 'anyone',
    files: [
      'sites/router/locale.ts',
      'sites/router/request.ts',
      'sites/skew/wish.ts',
      'sites/static/conditional.ts',
      'sites/static/encodings.ts',
      'sites/static/ranges.ts',
      'sites/visitors/bypass-cookie.ts',
      'sites/visitors/sign-in.ts',
    ],
  },
  cookies: {
    bytes: 16 * KIB,
    parts: 8 * KIB,
    from: 'anyone',
    files: ['platform/pages/cookies.ts', 'platform/verdict/cookie-pairs.ts', 'sites/visitors/cookies.ts'],
  },
  path: {
    bytes: 16 * KIB,
    parts: 16 * KIB,
    from: 'anyone',
    files: ['platform/server/strict-paths.ts', 'platform/server/unsupported-routes.ts', 'platform/http/route.ts'],
  },
  query: { bytes: 16 * KIB, parts: 1000, from: 'anyone', files: ['platform/http/query.ts'] },
  form: {
    bytes: 256 * KIB,
    parts: 2000,
    from: 'anyone',
    files: ['platform/pages/form.ts', 'platform/pages/saved-form.ts'],
  },
  'form of a client': { bytes: 16 * KIB, parts: 100, from: 'anyone', files: ['platform/http/parse-request.ts'] },
  'JSON of a client': {
    bytes: 16 * KIB,
    parts: 16 * KIB,
    from: 'anyone',
    files: ['platform/http/parse-request.ts', 'platform/schema/json-weight.ts', 'platform/http/validate.ts'],
  },
  'state of single sign-on': {
    bytes: 4 * KIB,
    parts: 2,
    from: 'anyone',
    files: ['accounts/single-sign-on/authorization-state.ts'],
  },
  'answer of a passkey': {
    bytes: 16 * KIB,
    parts: 8 * KIB,
    from: 'anyone',
    files: ['accounts/second-factor/passkeys.ts', 'accounts/second-factor/challenges.ts'],
  },
  'question of a proxy': {
    bytes: 64 * KIB,
    parts: 2000,
    from: 'anyone',
    files: [
      'operations/edge/listener.ts',
      'operations/edge/callers.ts',
      'operations/edge/site-sign-in.ts',
      'operations/edge/visitor.ts',
      'operations/edge/sites-channel.ts',
      'operations/edge/site-files.ts',
    ],
  },
  'usage report': {
    bytes: 256 * KIB,
    parts: 1000,
    from: 'caller',
    files: ['delivery/protocol/usage-report.ts', 'operations/edge/site-usage.ts'],
  },
  'log report': {
    bytes: 2 * 1024 * KIB,
    parts: 2000,
    from: 'caller',
    files: ['delivery/protocol/log-report.ts', 'operations/edge/site-usage.ts'],
  },
  'lease of cron jobs': {
    bytes: 8 * KIB,
    parts: 8 * KIB,
    from: 'caller',
    files: ['delivery/protocol/cron-channel.ts'],
  },
  'result of a cron job': {
    bytes: 2 * KIB,
    parts: 3,
    from: 'caller',
    files: ['delivery/protocol/cron-channel.ts'],
  },
  'request of a runner': {
    bytes: 128 * KIB,
    parts: 1000,
    from: 'caller',
    files: ['delivery/runners/answers.ts', 'delivery/runners/channel.ts'],
  },
  'log of a build': { bytes: 2 * MIB, parts: 1000, from: 'caller', files: ['delivery/runners/answers.ts'] },
  'result of a build': { bytes: 8 * MIB, parts: 20_000, from: 'caller', files: ['delivery/runners/answers.ts'] },
  'form of a text': { bytes: 3 * MIB, parts: 2000, from: 'caller', files: ['platform/pages/form.ts'] },
  'JSON body': {
    bytes: 64 * KIB,
    parts: 50_000,
    from: 'caller',
    files: ['platform/http/parse-request.ts', 'platform/schema/json-weight.ts', 'platform/http/validate.ts'],
  },
  'JSON body of many': {
    bytes: MIB,
    parts: 50_000,
    from: 'caller',
    files: ['platform/http/parse-request.ts', 'platform/schema/json-weight.ts', 'platform/http/validate.ts'],
  },
  'JSON body with a list': {
    bytes: 8 * MIB,
    parts: 300_000,
    from: 'pieces',
    files: ['platform/http/list-body.ts', 'platform/schema/json-list.ts'],
  },
  'kept form': { bytes: 192 * KIB, parts: 2000, from: 'caller', files: ['platform/pages/saved-form.ts'] },
  'env file': { bytes: MIB, parts: 80_000, from: 'caller', files: ['projects/env-files/dotenv.ts'] },
  'file list': {
    bytes: 8 * MIB,
    parts: 20_000,
    from: 'pieces',
    files: ['delivery/deploys/file-list.ts', 'delivery/deploys/inline-files.ts'],
  },
  'attributes in an archive': {
    bytes: 64 * KIB,
    parts: 256,
    from: 'caller',
    files: ['delivery/archive/extended.ts', 'delivery/archive/header.ts'],
  },
  'piece of a file': {
    bytes: 128 * KIB,
    parts: 128 * KIB,
    from: 'caller',
    files: ['platform/server/bodies.ts', 'delivery/files/digest.ts'],
  },
  'DNS answer': {
    bytes: 64 * KIB,
    parts: 100,
    from: 'server',
    files: ['platform/adapters/dns.ts', 'projects/domain-verification/challenge.ts'],
  },
  'answer of a receiver': { bytes: 64 * KIB, parts: 4 * KIB, from: 'server', files: ['platform/adapters/egress.ts'] },
  'answer of a git host': { bytes: 256 * KIB, parts: 128 * KIB, from: 'server', files: ['platform/adapters/git.ts'] },
  'answer of the identity provider': {
    bytes: 256 * KIB,
    parts: 128 * KIB,
    from: 'server',
    files: ['platform/adapters/identity-provider.ts', 'platform/adapters/openid/discovery.ts'],
  },
  'line of the control plane': {
    bytes: 64 * KIB,
    parts: 64 * KIB,
    from: 'server',
    files: ['delivery/protocol/snapshot.ts', 'sites/snapshot/control-plane.ts', 'sites/visitors/admission.ts'],
  },
  'answer to a runner': {
    bytes: 16 * MIB,
    parts: 20_000,
    from: 'command',
    files: ['runner/lease/control-plane.ts'],
  },
  'page of a bucket': { bytes: 4 * MIB, parts: 1000, from: 'server', files: ['platform/adapters/s3.ts'] },
  'answer to an import': {
    bytes: 32 * MIB,
    parts: 16 * MIB,
    from: 'command',
    files: ['cli/command/import/response.ts'],
  },
} as const satisfies Record<string, Reader>

export type ReaderName = keyof typeof READERS
