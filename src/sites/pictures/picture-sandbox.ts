/** Makes pictures: each in a sandbox of its own, without network, which ends with it. docs/pictures.md: Sandbox. */
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileAtomically } from '../../platform/adapters/atomic-file.ts'
import { pictureMaker } from '../../platform/base/shipped-files.ts'
import { readAtMost } from '../../platform/fairness/bounded-body.ts'
import { createSandbox } from '../../sandbox/create.ts'
import { createReadableFile } from '../../sandbox/own-files.ts'
import { DEFAULT_LIMITS, type Limits, type Policy } from '../../sandbox/policy.ts'
import type { RunAs } from '../../sandbox/run-as.ts'
import {
  createEnterableDirectories,
  createRunDirectory,
  removeAbandonedRuns,
  removeRunDirectory,
} from '../../sandbox/run-directory.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import { notValid } from './faults.ts'
import { MAX_HEAD, MAX_PIXELS, type Made, madeOf, NOT_VALID } from './made.ts'

/** What makes pictures on this machine. `node`: as of functions. `sharp`: a directory with `node_modules/sharp`. */
type PictureTools = { node: { folder: string | undefined; program: string }; sharp: string }

/** `folder`: entered by the user of sandboxes. `tools`: undefined where they are not there now. */
export type PictureOptions = {
  folder: string
  runAs: RunAs
  tools(): Promise<PictureTools | undefined>
  limitMs?: number
}

/** `format`: undefined for that of the source. */
type Wish = { width: number; quality: number; format: string | undefined }

export type PictureSandbox = {
  /** Makes a picture; undefined where it cannot be made here now, or takes too much. Throws PictureFailure for another source, and the system's errors. */
  make(bytes: Buffer, wish: Wish): Promise<Made | undefined>
  close(): Promise<void>
}

const MIB = 1024 ** 2
const LIMIT_MS = 20_000
const MAX_MADE = 32 * MIB

const LIMITS: Limits = {
  ...DEFAULT_LIMITS,
  processes: 48,
  openFiles: 64,
  fileBytes: MIB,
  tmpBytes: MIB,
  sharedMemoryBytes: MIB,
  memoryBytes: 512 * MIB,
  addressSpaceBytes: 4096 * MIB,
}

/** Opens the maker in a directory of this process, and removes those of processes that are gone. Throws the system's errors. */
export async function openPictureSandbox({
  folder,
  runAs,
  tools,
  limitMs = LIMIT_MS,
}: PictureOptions): Promise<PictureSandbox> {
  const runs = join(folder, 'pictures')
  await createEnterableDirectories(folder, runs)
  await removeAbandonedRuns(runs)
  const own = await createRunDirectory(runs)
  const maker = join(own, 'maker.mjs')
  writeFileAtomically(maker, pictureMaker())
  await chmod(maker, 0o444)
  const running = new Set<Sandbox>()
  return {
    async make(bytes, wish) {
      const found = await tools()
      if (found === undefined) return undefined
      const sandbox = createSandbox('sandboxed', runs, runAs)
      running.add(sandbox)
      try {
        const { workDirectory } = await sandbox.prepare()
        const source = join(workDirectory, 'source')
        await createReadableFile(source, bytes)
        sandbox.start(policyOf(sandbox, { maker, source, tools: found }, wish))
        const output = await run(sandbox, limitMs)
        return output && madeOf(output)
      } finally {
        await sandbox.destroy()
        running.delete(sandbox)
      }
    },
    async close() {
      // What cannot be removed now is removed at the next start.
      await Promise.allSettled([...running].map((sandbox) => sandbox.destroy()))
      await removeRunDirectory(own).catch(() => {})
    },
  }
}

/** What a library says on standard error is not part of the picture. */
const QUIETLY = ['/bin/sh', '-c', 'exec "$@" 2>/dev/null', 'sh'] as const

function policyOf(
  sandbox: Sandbox,
  { maker, source, tools }: { maker: string; source: string; tools: PictureTools },
  { width, quality, format }: Wish,
): Policy {
  const { node, sharp } = tools
  const program = node.folder === undefined ? node.program : sandbox.inside(node.program)
  const order = {
    tools: sandbox.inside(sharp),
    source: sandbox.inside(source),
    mostPixels: MAX_PIXELS,
    width,
    quality,
    format,
  }
  return {
    command: [...QUIETLY, program, '--max-old-space-size=64', sandbox.inside(maker), JSON.stringify(order)],
    // A picture that must be whole before it is resized stays in memory.
    env: { PATH: '/usr/bin:/bin', HOME: '/tmp', LANG: 'C.UTF-8', VIPS_DISC_THRESHOLD: '1g' },
    workDirectory: undefined,
    readOnly: [maker, source, sharp, ...(node.folder === undefined ? [] : [node.folder])],
    network: 'none',
    currentDirectory: '/tmp',
    limits: LIMITS,
  }
}

/** Returns what it wrote; undefined if it took too much time or memory. */
async function run(sandbox: Sandbox, limitMs: number): Promise<Buffer | undefined> {
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    // The end of the making destroys it too, and fails where that does.
    sandbox.destroy().catch(() => {})
  }, limitMs)
  try {
    const output = await readAtMost(sandbox.output(), MAX_MADE + MAX_HEAD)
    if (output === undefined) throw notValid('The picture is too large when it is resized.')
    const { code, ranOutOfMemory } = await sandbox.wait()
    if (isLate || ranOutOfMemory) return undefined
    if (code !== 0) throw notValid(NOT_VALID)
    return output
  } finally {
    clearTimeout(timer)
  }
}
