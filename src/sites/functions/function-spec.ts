/** A function of one deployment. */
import type { FunctionBundle } from '../../delivery/protocol/routing-manifest.ts'

/** `key`: names it among all. `account`: whose files they are. `role`: a function that is asked as a middleware has a process of its own for that. */
export type FunctionSpec = {
  key: string
  role: 'function' | 'middleware'
  account: string
  deploymentId: string
  bundle: FunctionBundle & { files: NonNullable<FunctionBundle['files']> }
}

/** In MB and seconds, where the function says nothing. */
const [MEMORY, MAX_DURATION] = [512, 60]
/** The longest that a request may take, whatever the function says. */
const LONGEST = 300

/** Returns the function of a bundle; undefined where it is of a kind that does not run, or of an output that lists no files. */
export function specOf(
  account: string,
  deploymentId: string,
  bundle: FunctionBundle,
  role: FunctionSpec['role'] = 'function',
): FunctionSpec | undefined {
  const { files, kind, name } = bundle
  if (kind === 'unsupported' || files === undefined) return undefined
  return { key: `${deploymentId} ${role} ${name}`, role, account, deploymentId, bundle: { ...bundle, files } }
}

/** Returns the limit of a request in ms. */
export function maxDurationMs({ bundle }: FunctionSpec): number {
  return Math.min(bundle.maxDuration ?? MAX_DURATION, LONGEST) * 1000
}

/** Returns the memory of a process, in MB. */
export function memoryOf({ bundle }: FunctionSpec): number {
  return bundle.memory ?? MEMORY
}
