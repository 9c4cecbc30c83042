/** What a build is run with: pinned packages, each installed by a lockfile of its own. docs/runner.md: Toolchain. */
import type { BuildSettings, SourceEntry } from '../../delivery/protocol/runner-protocol.ts'
import type { ShippedFile } from '../../platform/base/shipped-files.ts'

type Files = { manifest: ShippedFile; lock: ShippedFile }

/** TABLE units: their shipped package.json and package-lock.json. */
export const UNITS = {
  builder: { manifest: 'builder manifest', lock: 'builder lock' },
  'node-22': { manifest: 'node-22 manifest', lock: 'node-22 lock' },
  'node-24': { manifest: 'node-24 manifest', lock: 'node-24 lock' },
  'npm-10': { manifest: 'npm-10 manifest', lock: 'npm-10 lock' },
  'npm-11': { manifest: 'npm-11 manifest', lock: 'npm-11 lock' },
  'pnpm-10': { manifest: 'pnpm-10 manifest', lock: 'pnpm-10 lock' },
  'yarn-1': { manifest: 'yarn-1 manifest', lock: 'yarn-1 lock' },
  pictures: { manifest: 'pictures manifest', lock: 'pictures lock' },
} as const satisfies Record<string, Files>

export type Unit = keyof typeof UNITS

/** TABLE units that a runner installs before the first build, in the order of need: new projects have Node.js 22. */
export const AHEAD: readonly Unit[] = ['builder', 'node-22', 'npm-10', 'node-24', 'npm-11', 'pnpm-10', 'yarn-1']

/** The builder refuses older versions, and has no newer ones. */
const NODE_MAJORS = [22, 24] as const
export type NodeMajor = (typeof NODE_MAJORS)[number]

/** TABLE version of Node.js → its unit, and the npm that is shipped with it. */
export const NODE_UNITS = {
  22: { node: 'node-22', npm: 'npm-10' },
  24: { node: 'node-24', npm: 'npm-11' },
} as const satisfies Record<NodeMajor, { node: Unit; npm: Unit }>

/** TABLE package manager → its unit, its lockfiles, and how a command begins that calls it. npm is always there. */
const MANAGERS = [
  { unit: 'pnpm-10', files: ['pnpm-lock.yaml', 'pnpm-workspace.yaml'], name: 'pnpm', command: /\bpnpm\b/ },
  { unit: 'yarn-1', files: ['yarn.lock'], name: 'yarn', command: /\byarn(?:pkg)?\b/ },
] as const

/** The fields of a package.json that choose tools. Other content is ignored. */
type PackageFacts = { node: string | undefined; manager: string | undefined }

/** Reads the fields of a package.json. A file that is not JSON has none: the builder names the error. Pure. */
export function packageFacts(text: string | undefined): PackageFacts {
  let file: { engines?: { node?: unknown }; packageManager?: unknown } | null = null
  try {
    file = JSON.parse(text ?? '{}')
  } catch {}
  const { engines, packageManager } = typeof file === 'object' && file !== null ? file : {}
  return {
    node: shortText(engines?.node),
    manager: shortText(packageManager)?.split('@')[0],
  }
}

/** Longer text names no version, and the expressions below would take long for it. */
const MAX_FACT = 100

function shortText(value: unknown): string | undefined {
  return typeof value === 'string' && value.length <= MAX_FACT ? value : undefined
}

/** Returns the version of Node.js for a build, and whether it is what the settings or `engines` ask for. Pure. */
export function chooseNode(nodeVersion: string, engines: string | undefined): { major: NodeMajor; isAsked: boolean } {
  const newest = NODE_MAJORS.at(-1)!
  const [, from] = /^\s*>=?\s*(\d+)(?:[.x][\d.x]*)?\s*$/.exec(engines ?? '') ?? []
  if (from !== undefined && Number(from) <= newest) return { major: newest, isAsked: true }
  const [, exact] = /^\s*(?:[\^~v=]\s*)?(\d+)(?:\.[\d.x*]+)?\s*$/.exec(engines ?? '') ?? []
  const asked = Number.parseInt(exact ?? nodeVersion, 10)
  const major = NODE_MAJORS.find((one) => one >= asked) ?? newest
  return { major, isAsked: major === asked }
}

/** Returns the package managers that a source needs in addition to npm. Pure. */
export function chooseManagers(
  entries: readonly Pick<SourceEntry, 'path'>[],
  manager: string | undefined,
  { installCommand, buildCommand }: Pick<BuildSettings, 'installCommand' | 'buildCommand'>,
): Unit[] {
  const names = new Set(entries.map(({ path }) => path.slice(path.lastIndexOf('/') + 1)))
  const commands = `${installCommand ?? ''}\n${buildCommand ?? ''}`
  return MANAGERS.filter(
    ({ files, name, command }) => name === manager || files.some((file) => names.has(file)) || command.test(commands),
  ).map(({ unit }) => unit)
}
