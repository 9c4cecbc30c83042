/** A function of one deployment. */
import type { FunctionBundle } from '../../delivery/protocol/routing-manifest.ts'
import type { FunctionDefaults } from '../../platform/verdict/site-settings.ts'
import { DEFAULT_LIMITS, type Limits } from '../../sandbox/policy.ts'

/**
 * `account`: whose files they are. `environment`: with whose functions of the project it shares cached data and a network. `defaults`: what the project
 * says for functions that say nothing.
 */
export type FunctionOwner = {
  account: string
  deploymentId: string
  projectId: string
  environment: string
  defaults?: FunctionDefaults | undefined
}

/** `key`: names it among all. `role`: a function that is asked as a middleware has a process of its own for that. */
export type FunctionSpec = Omit<FunctionOwner, 'defaults'> & {
  key: string
  role: 'function' | 'middleware'
  bundle: FunctionBundle & { files: NonNullable<FunctionBundle['files']> }
}

/** In MB and seconds, where neither function nor project say anything. */
const [MEMORY, MAX_DURATION] = [512, 60]
/** The longest that a request may take, whatever the function says. */
const LONGEST = 300

/** Returns the function of a bundle; undefined where it is of a kind that does not run, or of an output that lists no files. */
export function specOf(
  owner: FunctionOwner,
  bundle: FunctionBundle,
  role: FunctionSpec['role'] = 'function',
): FunctionSpec | undefined {
  const { files, kind, name } = bundle
  if (kind === 'unsupported' || files === undefined) return undefined
  const { account, deploymentId, projectId, environment, defaults } = owner
  const key = `${deploymentId} ${environment} ${role} ${name}`
  return { key, role, account, deploymentId, projectId, environment, bundle: { ...defaults, ...bundle, files } }
}

/**
 * Returns the name of the space of its sandboxes: a preview never meets production on loopback. A space asks the resolvers that the host had when it was
 * opened, so those of now name another one.
 */
export function spaceOf({ projectId, environment }: FunctionSpec, resolvers: readonly string[]): string {
  return [projectId, environment, ...resolvers].join(' ')
}

/** Returns the limit of a request in ms. */
export function maxDurationMs({ bundle }: FunctionSpec): number {
  return Math.min(bundle.maxDuration ?? MAX_DURATION, LONGEST) * 1000
}

/** Returns the memory of the heap of a process, in MB. */
export function memoryOf({ bundle }: Pick<FunctionSpec, 'bundle'>): number {
  return bundle.memory ?? MEMORY
}

/** For Node.js itself, buffers and `/tmp`, in MB. */
const MORE_MEMORY = 512

/** Returns what the sandbox of a process may use. Pure. */
export function functionLimits(spec: Pick<FunctionSpec, 'bundle'>): Limits {
  return { ...DEFAULT_LIMITS, memoryBytes: (memoryOf(spec) + MORE_MEMORY) * 1024 ** 2 }
}
