/** Spaces by name: the first sandbox of a name opens one. docs/sandbox.md: A namespace for several sandboxes. */
import type { Sandbox } from '../sandbox.ts'
import type { SandboxSpace } from './space.ts'

export type Spaces = {
  /** Creates a sandbox in the space of a name. Throws where the space does not start, with the sentence of `openSandboxSpace`. */
  createSandbox(name: string): Promise<Sandbox>
  /** Destroys all sandboxes. */
  close(): Promise<void>
}

type Entry = { space: Promise<SandboxSpace>; sandboxes: number; closing: NodeJS.Timeout | undefined }

/** A function that is used again soon starts without waiting for a network. */
const LINGER_MS = 30_000

/** Opens a space with `open` where its name has none, and closes it `lingerMs` after the end of its last sandbox. */
export function openSpaces(open: () => Promise<SandboxSpace>, lingerMs = LINGER_MS): Spaces {
  const entries = new Map<string, Entry>()

  function openOne(name: string): Entry {
    const entry: Entry = { space: open(), sandboxes: 0, closing: undefined }
    const forget = () => {
      if (entries.get(name) === entry) entries.delete(name)
    }
    // One that did not start, or whose network ended, is replaced with the next sandbox.
    entry.space.then(({ ended }) => ended.then(forget, forget), forget)
    return entry
  }

  function leave(name: string, entry: Entry): void {
    if (--entry.sandboxes > 0) return
    entry.closing = setTimeout(() => {
      if (entries.get(name) === entry) entries.delete(name)
      void close(entry)
    }, lingerMs).unref()
  }

  return {
    async createSandbox(name) {
      const entry = entries.getOrInsertComputed(name, openOne)
      clearTimeout(entry.closing)
      entry.sandboxes++
      try {
        const sandbox = (await entry.space).createSandbox()
        return { ...sandbox, destroy: leaving(sandbox, () => leave(name, entry)) }
      } catch (error) {
        leave(name, entry)
        throw error
      }
    },
    async close() {
      await Promise.all([...entries.values()].map(close))
    },
  }
}

/** `destroy` may be called more than once. */
function leaving(sandbox: Sandbox, leave: () => void): Sandbox['destroy'] {
  let hasLeft = false
  return async () => {
    try {
      await sandbox.destroy()
    } finally {
      if (!hasLeft) leave()
      hasLeft = true
    }
  }
}

/** Directories that cannot be removed are removed at the next start. */
async function close({ space, closing }: Entry): Promise<void> {
  clearTimeout(closing)
  await space.then((opened) => opened.close()).catch(() => {})
}
