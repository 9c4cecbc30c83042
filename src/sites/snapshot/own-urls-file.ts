/** Stores own urls on disk, so that they resolve after a restart while the control plane is unavailable. */
import { createReadStream, existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { BadSnapshot, readHostFacts } from '../../delivery/protocol/snapshot.ts'
import { removeStaleTemporaryFiles, writeStreamAtomically } from '../../platform/adapters/atomic-file.ts'
import type { HostFactsOf, OwnUrls } from './own-urls.ts'
import { textLines, textPieces } from './text-lines.ts'

const NAME = 'own-urls.ndjson'
const EVERY_MS = 10_000

/** Restores urls from the directory and rewrites the file some seconds after changes. `stop` writes it once more. */
export async function keepOwnUrls(
  ownUrls: OwnUrls,
  directory: string,
  log: Logger,
): Promise<{ stop(): Promise<void> }> {
  removeStaleTemporaryFiles(directory, NAME, Number.NEGATIVE_INFINITY)
  const file = join(directory, NAME)
  ownUrls.restore(await readUrls(file).catch((error) => warn(log, error, 'cannot read the stored own urls')))
  let written = ownUrls.version()
  const write = async () => {
    const version = ownUrls.version()
    if (version === written) return
    await writeStreamAtomically(file, textPieces(Iterator.from(ownUrls.kept()).map(textOf)))
    written = version
  }
  const writeQuietly = () => write().catch((error) => void warn(log, error, 'cannot store own urls on disk'))
  let writing = Promise.resolve()
  const timer = setInterval(() => {
    writing = writing.then(writeQuietly)
  }, EVERY_MS).unref()
  return {
    async stop() {
      clearInterval(timer)
      await writing.then(writeQuietly)
    },
  }
}

function warn(log: Logger, error: unknown, what: string): [] {
  log.warn({ err: error }, what)
  return []
}

function textOf({ host, facts }: HostFactsOf): string {
  return `${host}\t${JSON.stringify(facts)}\n`
}

async function readUrls(file: string): Promise<HostFactsOf[]> {
  if (!existsSync(file)) return []
  const urls: HostFactsOf[] = []
  for await (const lines of textLines(createReadStream(file))) {
    for (const { text } of lines) {
      const [host = '', facts = ''] = text.split('\t', 2)
      try {
        urls.push({ host, facts: readHostFacts(facts) })
      } catch (error) {
        // The line has another protocol version, so its url is looked up again.
        if (!(error instanceof BadSnapshot)) throw error
      }
    }
  }
  return urls
}
