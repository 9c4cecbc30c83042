/** Uploads in memory, for tests of outputs and of the router. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type Output, readOutput, type Upload } from '../../../src/delivery/outputs/output.ts'
import type { UploadEntry } from '../../../src/delivery/outputs/tree.ts'

/** `link`: a link with this target. A text or bytes: a file. */
export type Content = string | Uint8Array | { link: string }

/** Files by path from the project folder. */
export function uploadOf(contents: Record<string, Content>): Upload {
  const bytes = new Map<string, Uint8Array>()
  const entries = Object.entries(contents).map(([path, content]): UploadEntry => {
    if (typeof content === 'object' && 'link' in content) {
      return {
        path,
        kind: 'link',
        size: content.link.length,
        mode: 0o120777,
        digest: digestOf(content.link),
        target: content.link,
      }
    }
    bytes.set(path, Buffer.from(content))
    return { path, kind: 'file', size: Buffer.byteLength(content), mode: 0o100644, digest: digestOf(content) }
  })
  return { entries, read: async (path) => bytes.get(path)! }
}

/** The same below the folder of an output, with this configuration. */
export function outputUpload(config: object, contents: Record<string, Content> = {}): Upload {
  const inside = Object.entries(contents).map(([path, content]) => [`.vercel/output/${path}`, content])
  return uploadOf({
    '.vercel/output/config.json': JSON.stringify({ version: 3, ...config }),
    ...Object.fromEntries(inside),
  })
}

/** The files of a Node function. */
export function nodeFunction(name: string, config: object = {}): Record<string, string> {
  const settings = { runtime: 'nodejs24.x', handler: 'index.js', launcherType: 'Nodejs', ...config }
  return {
    [`functions/${name}.func/.vc-config.json`]: JSON.stringify(settings),
    [`functions/${name}.func/index.js`]: '',
  }
}

/** Reads a valid output. */
export async function validOutput(config: object, contents: Record<string, Content> = {}): Promise<Output> {
  const output = await readOutput(outputUpload(config, contents))
  if ('faults' in output) assert.fail(output.faults.join('\n'))
  return output
}

/** The sentences about an upload that is refused. */
export async function faultsOf(upload: Upload): Promise<string[]> {
  const output = await readOutput(upload)
  return 'faults' in output ? output.faults : []
}

export function digestOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}
