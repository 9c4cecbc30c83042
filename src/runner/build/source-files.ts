/** The files of a source, fetched from the control plane. docs/runner.md: Source. */
import type { Readable } from 'node:stream'
import type { Answer, LeaseChannel } from '../lease/control-plane.ts'
import { retried } from './output-upload.ts'
import type { FetchFile, WriteFile } from './workspace.ts'

type Channel = Pick<LeaseChannel, 'sourceFile'>

/** Returns how files are fetched. A file whose connection breaks is fetched and written once more. It throws what `retried` throws. */
export function sourceFilesOf(channel: Channel, signal: AbortSignal): FetchFile {
  return (sha256, write) => retried(() => fetchOne(channel, sha256, write, signal), signal)
}

async function fetchOne(
  channel: Channel,
  sha256: string,
  write: WriteFile,
  signal: AbortSignal,
): Promise<Answer<void>> {
  const answer = await channel.sourceFile(sha256, signal)
  if (answer.outcome !== 'done') return answer
  const bytes = answer.value
  // It fails also where its reader gave up, who has the reason.
  bytes.on('error', () => {})
  try {
    return { outcome: 'done', value: await write(wholeOf(bytes)) }
  } catch (error) {
    if (!(error instanceof BrokenOff)) throw error
    return { outcome: 'retry', because: `the connection broke within a file of the source: ${error.message}` }
  } finally {
    bytes.destroy()
  }
}

/** The bytes ended before the file did. An error of the disk is another one. */
class BrokenOff extends Error {}

async function* wholeOf(bytes: Readable): AsyncGenerator<Buffer> {
  try {
    yield* bytes
  } catch (error) {
    throw new BrokenOff((error as Error).message)
  }
}
