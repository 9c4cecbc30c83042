/** Programs whose files may have a few KiB: a write above that takes a part, and the next one fails, as on a full disk. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../root.ts'

const KIB = 16

/** Calls an exported function of a source in a process of its own, and returns what that wrote to standard error. */
export function callWithSmallFiles(source: string, name: string, parameters: readonly unknown[]): string {
  const url = pathToFileURL(join(root, source)).href
  const script = `const module = await import('${url}'); await module.${name}(...${JSON.stringify(parameters)})`
  const limited = ['-c', `ulimit -f ${KIB}; exec "$0" --input-type=module -e "$1"`, process.execPath, script]
  return spawnSync('bash', limited, { encoding: 'utf8' }).stderr
}
