/** A process group in a directory of its own, for an operator who trusts all code. It isolates nothing. docs/sandbox.md: The trusted kind. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { PLAIN_INIT_SCRIPT } from './init-script.ts'
import { type ProcessGroup, startedOf, startGroup } from './process-group.ts'
import { createRunDirectory, removeRunDirectory } from './run-directory.ts'
import type { Sandbox } from './sandbox.ts'

/** Creates a sandbox whose directory lies below `parent`. Its command runs as the user of this process. Mounts, network and limits of the policy do not apply. */
export function createPlainSandbox(parent: string): Sandbox {
  let directory: string | undefined
  let group: ProcessGroup | undefined
  return {
    async prepare() {
      directory = await createRunDirectory(parent)
      const workDirectory = join(directory, 'work')
      await mkdir(workDirectory, { mode: 0o700 })
      return { workDirectory, insideWork: workDirectory }
    },
    inside: (path) => path,
    mounted: (_, path) => path,
    start({ command, env, currentDirectory }) {
      if (directory === undefined || group !== undefined) throw new Error('a sandbox is prepared and started once')
      const words = ['/bin/sh', '-c', PLAIN_INIT_SCRIPT, 'init', ...command]
      group = startGroup({ words, env, directory: currentDirectory, runAs: undefined, controlGroup: undefined })
    },
    output: () => startedOf(group).output,
    pid: () => startedOf(group).pid,
    wait: async () => startedOf(group).ended,
    async destroy() {
      group?.kill()
      await group?.ended.catch(() => {})
      if (directory !== undefined) await removeRunDirectory(directory)
    },
  }
}
