import { shown } from '../outputs/paths.ts'

/** Why an archive is rejected: one or two sentences for the client. Errors of another class are not the archive's. */
export class ArchiveError extends Error {}

/** Creates an error about an entry. `message` continues a sentence that begins with its path. */
export function entryError(path: string, message: string): ArchiveError {
  return new ArchiveError(`${path === '' ? 'An entry of the archive' : shown(path)} ${message}`)
}

/** Creates an error about a damaged archive. `what` continues a sentence. */
export function damaged(what: string): ArchiveError {
  return new ArchiveError(`The archive is damaged: ${what}. Pack and upload it again.`)
}
