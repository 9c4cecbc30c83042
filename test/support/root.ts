import { join } from 'node:path'

/** The root of the repository, as an absolute path. */
export const root = join(import.meta.dirname, '..', '..')
