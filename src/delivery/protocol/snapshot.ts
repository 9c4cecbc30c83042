/** Host facts as lines of JSON: a `head`, facts, an `end`. docs/deploying-sites.md: Data of the sites server. */
import { Ajv, type ValidateFunction } from 'ajv'
import type { Static } from 'typebox'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, OneOf } from '../../platform/schema/fields.ts'
import type { DeploymentRecord, NameRecord, ProjectRecord } from '../../platform/verdict/facts.ts'
import { closedProtection, coverageOf } from '../../platform/verdict/protection.ts'
import { READERS } from '../../readers.ts'
import { Purges, Settings } from './snapshot-project.ts'

/** The protocol version. A reader refuses other versions and unknown kinds of lines, but ignores unknown fields. */
export const SNAPSHOT_PROTOCOL = 1

const TextOrNull = Type.Unsafe<string | null>({ type: ['string', 'null'] })
const Covers = OneOf(
  'production',
  'preview',
  'all',
  'prod_deployment_urls_and_all_previews',
  'all_except_custom_domains',
)

/**
 * Start of a list. `all`: replaces all facts. `reset`: replaces newer facts too, because the database was restored. `suffix`: under which Berth gives
 * addresses; missing where none is set, and from older control planes.
 */
const HeadLine = Type.Object({
  kind: Type.Literal('head'),
  protocol: Type.Integer(),
  all: Type.Boolean(),
  reset: Type.Optional(Type.Boolean()),
  suffix: Type.Optional(Type.String({ maxLength: 253 })),
})

/** A claimed name. `domain`: the verified domain among its claims. */
const NameLine = Type.Object({
  kind: Type.Literal('name'),
  name: Type.String(),
  domain: Type.Optional(
    Type.Object({
      projectId: Type.String(),
      redirect: TextOrNull,
      redirectStatusCode: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
      ofBranch: Type.Boolean(),
      deploymentId: TextOrNull,
      isAddress: Type.Optional(Type.Boolean({ description: 'Berth gave the name to production or to a branch' })),
    }),
  ),
})

/** The account that stores the output's files, and the SHA-256 and bytes of its routing manifest. */
const Output = Type.Object({
  accountId: Type.String(),
  digest: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  size: Type.Integer({ minimum: 0 }),
})

/** A deployment without its own url, which is looked up. `output`: missing from older control planes. `createdAt`: only in lookups by id. */
const DeploymentLine = Type.Object({
  kind: Type.Literal('deployment'),
  id: Type.String(),
  projectId: Type.String(),
  ready: Type.Boolean(),
  production: Type.Boolean(),
  upstream: TextOrNull,
  output: Type.Optional(Nullable(Output)),
  environmentId: Type.Optional(Type.String()),
  createdAt: Type.Optional(Type.Number()),
})

/** A project with the scope of its protection, but without its secrets. */
const ProjectLine = Type.Object({
  kind: Type.Literal('project'),
  id: Type.String(),
  paused: Type.Boolean(),
  liveDeploymentId: TextOrNull,
  protection: Type.Optional(
    Type.Object({
      password: Type.Optional(Covers),
      signIn: Type.Optional(Covers),
      trustedIps: Type.Optional(Covers),
    }),
  ),
  settings: Type.Optional(Settings),
  purges: Type.Optional(Purges),
})

const GoneLine = Type.Object({
  kind: Type.Literal('gone'),
  of: OneOf('name', 'deployment', 'project'),
  id: Type.String(),
})

/** End of a list. `version`: the resulting version. `lines`: number of facts. `more`: another list follows immediately on request. */
const EndLine = Type.Object({
  kind: Type.Literal('end'),
  version: Type.String({ maxLength: 100 }),
  lines: Type.Integer(),
  more: Type.Boolean(),
})

const LINES = {
  head: HeadLine,
  name: NameLine,
  deployment: DeploymentLine,
  project: ProjectLine,
  gone: GoneLine,
  end: EndLine,
}

const HostFacts = Type.Object({
  protocol: Type.Integer(),
  version: Type.String({ maxLength: 100 }),
  deployment: DeploymentLine,
  project: ProjectLine,
})

export type HeadLine = Static<typeof HeadLine>
export type NameLine = Static<typeof NameLine>
export type DeploymentLine = Static<typeof DeploymentLine>
export type ProjectLine = Static<typeof ProjectLine>
export type GoneLine = Static<typeof GoneLine>
export type HostFacts = Static<typeof HostFacts>
export type FactLine = NameLine | DeploymentLine | ProjectLine | GoneLine
export type SnapshotLine = FactLine | HeadLine | Static<typeof EndLine>

/** Invalid input. The message is for users. */
export class BadSnapshot extends Error {}

const ajv = new Ajv({ allowUnionTypes: true })
const validators: Record<string, ValidateFunction> = Object.fromEntries(
  Object.entries(LINES).map(([kind, schema]) => [kind, ajv.compile(schema)]),
)
const isHostFacts = ajv.compile(HostFacts)
const { bytes: LONGEST } = READERS['line of the control plane']

/** Parses a line. Throws BadSnapshot if it is not a line of this version. */
export function readLine(text: string): SnapshotLine {
  const line = parse(text) as { kind?: unknown; protocol?: number }
  const isKnown = typeof line.kind === 'string' ? validators[line.kind] : undefined
  if (line.kind === 'head') mustBeKnown(line.protocol)
  if (isKnown === undefined)
    throw new BadSnapshot(
      `The control plane sent a line of the kind ${JSON.stringify(line.kind)}, which is not known here.`,
    )
  if (!isKnown(line)) throw new BadSnapshot(`The control plane sent a wrong line: ${faultOf(isKnown)}.`)
  return line as SnapshotLine
}

/** Parses the facts of one host. Throws BadSnapshot if they are not of this version. */
export function readHostFacts(text: string): HostFacts {
  const facts = parse(text) as { protocol?: number }
  mustBeKnown(facts.protocol)
  if (!isHostFacts(facts))
    throw new BadSnapshot(`The control plane sent wrong facts of a host: ${faultOf(isHostFacts)}.`)
  return facts as HostFacts
}

function parse(text: string): object {
  if (text.length > LONGEST) throw new BadSnapshot(`The control plane sent a line of more than ${LONGEST} characters.`)
  try {
    const value = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch {}
  throw new BadSnapshot('The control plane sent a line that is not a JSON object.')
}

function mustBeKnown(protocol: unknown): void {
  if (protocol === SNAPSHOT_PROTOCOL) return
  throw new BadSnapshot(
    `The control plane speaks version ${JSON.stringify(protocol)} of the sites protocol, and this sites server version ${SNAPSHOT_PROTOCOL}: run the same Berth on both.`,
  )
}

function faultOf({ errors }: ValidateFunction): string {
  return ajv.errorsText(errors?.slice(0, 1), { dataVar: 'the line' })
}

/** Returns the line of a name. */
export function nameLine({ name, domain }: NameRecord): NameLine {
  if (domain === undefined) return { kind: 'name', name }
  const { name: _, ...facts } = domain
  return { kind: 'name', name, domain: facts }
}

/** Returns the facts of a name line. */
export function nameFacts({ name, domain }: NameLine): NameRecord {
  return { name, domain: domain && { name, ...domain } }
}

/** Returns the line of a deployment. */
export function deploymentLine({
  id,
  projectId,
  ready,
  production,
  upstream,
  output,
  environmentId,
}: DeploymentRecord): DeploymentLine {
  const line = { kind: 'deployment', id, projectId, ready, production, upstream, output } as const
  return environmentId === undefined ? line : { ...line, environmentId }
}

/** Returns the facts of a deployment line. */
export function deploymentFacts({ kind: _, output = null, ...facts }: DeploymentLine): DeploymentRecord {
  return { ...facts, output, url: null }
}

/** Returns the line of a project. */
export function projectLine({
  id,
  paused,
  liveDeploymentId,
  protection,
  settings,
  purges,
}: ProjectRecord): ProjectLine {
  return {
    ...{ kind: 'project', id, paused, liveDeploymentId },
    ...(protection && { protection: coverageOf(protection) }),
    ...(settings && { settings }),
    ...(purges && { purges }),
  }
}

/** Returns the facts of a project line. Protected projects stay closed: only the control plane grants access. */
export function projectFacts({
  id,
  paused,
  liveDeploymentId,
  protection,
  settings,
  purges,
}: ProjectLine): ProjectRecord {
  return {
    id,
    paused,
    liveDeploymentId,
    protection: protection && closedProtection(protection),
    ...(settings?.protectedSourcemaps && { sourceMapProtection: closedProtection({ signIn: 'all' }) }),
    ...(settings && { settings }),
    ...(purges && { purges }),
  }
}
