import { shown } from '../outputs/paths.ts'

/** Why an archive is rejected: one or two sentences for the client. Errors of another class are not the archive's. */
export class ArchiveFault extends Error {}

/** Creates an error about an entry. `message` continues a sentence that begins with its path. */
export function entryFault(path: string, message: string): ArchiveFault {
  return new ArchiveFault(`${path === '' ? 'An entry of the archive' : shown(path)} ${message}`)
}

/** Creates an error about a damaged archive. `what` continues a sentence. */
export function damaged(what: string): ArchiveFault {
  return new ArchiveFault(`The archive is damaged: ${what}. Pack and upload it again.`)
}
