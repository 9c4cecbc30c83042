/** What a build is run with: pinned packages, each installed by a lockfile of its own. docs/runner.md: Toolchain. */
import semver from 'semver'
import type { SourceEntry } from '../../delivery/protocol/runner-protocol.ts'
import type { ShippedFile } from '../../platform/base/shipped-files.ts'

type Files = { manifest: ShippedFile; lock: ShippedFile }

/** TABLE units: their shipped package.json and package-lock.json. */
export const UNITS = {
  builder: { manifest: 'builder manifest', lock: 'builder lock' },
  'node-22': { manifest: 'node-22 manifest', lock: 'node-22 lock' },
  'node-24': { manifest: 'node-24 manifest', lock: 'node-24 lock' },
  'npm-10': { manifest: 'npm-10 manifest', lock: 'npm-10 lock' },
  'npm-11': { manifest: 'npm-11 manifest', lock: 'npm-11 lock' },
  'pnpm-7': { manifest: 'pnpm-7 manifest', lock: 'pnpm-7 lock' },
  'pnpm-8': { manifest: 'pnpm-8 manifest', lock: 'pnpm-8 lock' },
  'pnpm-10': { manifest: 'pnpm-10 manifest', lock: 'pnpm-10 lock' },
  'yarn-1': { manifest: 'yarn-1 manifest', lock: 'yarn-1 lock' },
  corepack: { manifest: 'corepack manifest', lock: 'corepack lock' },
  pictures: { manifest: 'pictures manifest', lock: 'pictures lock' },
} as const satisfies Record<string, Files>

export type Unit = keyof typeof UNITS

/** TABLE units that a runner installs before the first build, in the order of need: new projects have Node.js 22. */
export const AHEAD: readonly Unit[] = [
  'builder',
  'node-22',
  'npm-10',
  'node-24',
  'npm-11',
  'pnpm-10',
  'yarn-1',
  'corepack',
  'pnpm-8',
  'pnpm-7',
]

/** Newest first. The builder refuses older versions, and has no newer ones. */
const NODE_MAJORS = [24, 22] as const
export type NodeMajor = (typeof NODE_MAJORS)[number]

/** TABLE version of Node.js → its unit, and the npm that is shipped with it. */
export const NODE_UNITS = {
  22: { node: 'node-22', npm: 'npm-10' },
  24: { node: 'node-24', npm: 'npm-11' },
} as const satisfies Record<NodeMajor, { node: Unit; npm: Unit }>

/** TABLE package manager → its lockfiles, and how a command begins that calls it. npm is always there. */
const MANAGERS = [
  { name: 'pnpm', files: ['pnpm-lock.yaml', 'pnpm-workspace.yaml'], command: /\bpnpm\b/ },
  { name: 'yarn', files: ['yarn.lock'], command: /\byarn(?:pkg)?\b/ },
] as const

/** TABLE major version of a `pnpm-lock.yaml` → the pnpm that reads it. Another pnpm leaves it out without an error, and installs what is newest. */
const PNPM_BY_LOCK: Readonly<Record<string, Unit>> = { 5: 'pnpm-7', 6: 'pnpm-8' }

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

/** An empty text names nothing, for the builder too. */
function shortText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= MAX_FACT ? value : undefined
}

/**
 * Returns the version of Node.js for a build: the newest that `engines` allows, else the nearest to that of the settings. `isAsked`: whether it is what
 * they say. Where `engines` allows none, the builder refuses it and says so. Pure.
 */
export function chooseNode(nodeVersion: string, engines: string | undefined): { major: NodeMajor; isAsked: boolean } {
  const allowed = engines === undefined ? undefined : newestAllowed(engines)
  if (allowed !== undefined) return { major: allowed, isAsked: true }
  const asked = Number.parseInt(nodeVersion, 10)
  const major = NODE_MAJORS.findLast((major) => major >= asked) ?? NODE_MAJORS[0]
  return { major, isAsked: major === asked || engines !== undefined }
}

/** Decides as the builder does, by the same library. Undefined: it allows none, or is not a range. */
function newestAllowed(engines: string): NodeMajor | undefined {
  if (semver.validRange(engines) === null) return undefined
  return NODE_MAJORS.find((major) => semver.intersects(`${major}.x`, engines))
}

/** What chooses package managers. `texts`: commands, and files with scripts. `pnpmLock`: the beginning of `pnpm-lock.yaml`. */
type ManagerFacts = {
  entries: readonly Pick<SourceEntry, 'path'>[]
  manager: string | undefined
  texts: readonly (string | null | undefined)[]
  pnpmLock: string | undefined
  usesCorepack: boolean
}

/** Returns the package managers that a source needs in addition to npm. Pure. */
export function chooseManagers({ entries, manager, texts, pnpmLock, usesCorepack }: ManagerFacts): Unit[] {
  const names = new Set(entries.map(({ path }) => path.slice(path.lastIndexOf('/') + 1)))
  const all = texts.join('\n')
  const units = MANAGERS.filter(
    ({ files, name, command }) => name === manager || files.some((file) => names.has(file)) || command.test(all),
  ).map(({ name }): Unit => (name === 'yarn' ? 'yarn-1' : pnpmOf(manager, pnpmLock)))
  if (!usesCorepack && !/\bcorepack\b/.test(all)) return units
  // It has commands of the same names, which run what `packageManager` names.
  return manager === undefined ? [...units, 'corepack'] : ['corepack', ...units]
}

/** pnpm 10 fetches the version that `packageManager` names. */
function pnpmOf(manager: string | undefined, lock = ''): Unit {
  const [, major = ''] = /^lockfileVersion:\s*['"]?(\d{1,4})/m.exec(lock) ?? []
  return (manager === 'pnpm' ? undefined : PNPM_BY_LOCK[major]) ?? 'pnpm-10'
}
