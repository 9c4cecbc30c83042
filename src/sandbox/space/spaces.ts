/** Spaces by name: the first sandbox of a name opens one. docs/sandbox.md: A namespace for several sandboxes. */
import type { Sandbox } from '../sandbox.ts'
import type { SandboxSpace } from './space.ts'

export type Spaces = {
  /**
   * Creates a sandbox in the space of a name. Throws where the space does not start, with the sentence of `openSandboxSpace`, and once the spaces are
   * closed.
   */
  createSandbox(name: string): Promise<Sandbox>
  /** Destroys all sandboxes. */
  close(): Promise<void>
}

type Entry = { name: string; space: Promise<SandboxSpace>; sandboxes: number; closing: NodeJS.Timeout | undefined }

/** How long a space without sandboxes is kept, in ms, and how many: the limit of processes does not count what they take. */
type Kept = { ms: number; spaces: number }

/** A function that is used again soon starts without waiting for a network. */
const KEPT: Kept = { ms: 30_000, spaces: 8 }

/** Opens a space with `open` where its name has none, and closes it some time after the end of its last sandbox. */
export function openSpaces(open: () => Promise<SandboxSpace>, kept = KEPT): Spaces {
  const entries = new Map<string, Entry>()
  /** Without sandboxes, the one for the longest time first. */
  const empty = new Set<Entry>()
  let isClosed = false

  function openOne(name: string): Entry {
    const entry: Entry = { name, space: open(), sandboxes: 0, closing: undefined }
    const forget = () => entries.get(name) === entry && entries.delete(name)
    // One that did not start, or whose network ended, is replaced with the next sandbox.
    entry.space.then(({ ended }) => ended.then(forget, forget), forget)
    return entry
  }

  function end(entry: Entry): void {
    empty.delete(entry)
    if (entries.get(entry.name) === entry) entries.delete(entry.name)
    void close(entry)
  }

  function leave(entry: Entry): void {
    if (--entry.sandboxes > 0) return
    empty.add(entry)
    entry.closing = setTimeout(end, kept.ms, entry).unref()
    // One that ended takes the place of none.
    if (entries.get(entry.name) !== entry) end(entry)
    const [oldest] = empty
    if (empty.size > kept.spaces) end(oldest!)
  }

  return {
    async createSandbox(name) {
      if (isClosed) throw new Error('the spaces of sandboxes are closed')
      const entry = entries.getOrInsertComputed(name, openOne)
      clearTimeout(entry.closing)
      empty.delete(entry)
      entry.sandboxes++
      try {
        return leaving((await entry.space).createSandbox(), () => leave(entry))
      } catch (error) {
        leave(entry)
        throw error
      }
    },
    async close() {
      isClosed = true
      await Promise.all([...entries.values()].map(close))
    },
  }
}

/** Its `destroy` may be called more than once. */
function leaving(sandbox: Sandbox, leave: () => void): Sandbox {
  let hasLeft = false
  const destroy = async () => {
    try {
      await sandbox.destroy()
    } finally {
      if (!hasLeft) leave()
      hasLeft = true
    }
  }
  return { ...sandbox, destroy }
}

/** Directories that cannot be removed are removed at the next start. */
async function close({ space, closing }: Entry): Promise<void> {
  clearTimeout(closing)
  await space.then((opened) => opened.close()).catch(() => {})
}
