/** What is wrong with an archive. People read it in the client that deploys. */
import { shown } from '../outputs/paths.ts'

/** Why an archive is not taken. The message is one sentence, or two with what to do. Whatever else is thrown while one is read is not its fault. */
export class ArchiveFault extends Error {}

/** A fault of one entry. `message` is the rest of a sentence that begins with its path. */
export function entryFault(path: string, message: string): ArchiveFault {
  return new ArchiveFault(`${path === '' ? 'An entry of the archive' : shown(path)} ${message}`)
}

/** The fault of an archive that is not as a packer writes one. `what`: the rest of a sentence. */
export function damaged(what: string): ArchiveFault {
  return new ArchiveFault(`The archive is damaged: ${what}. Pack and upload it again.`)
}
