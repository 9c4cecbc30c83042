/** What one fsync per create gives. */
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { CREATE } from './cases.ts'
import { startServer, stopServer, type Target, type Words } from './children.ts'
import type { Figures, Loader } from './load.ts'
import { alternate, medians, newNames, ratios, type Spread, spread } from './rounds.ts'
import type { Opened } from './stores.ts'

/** What a run has at hand. `env` starts a service over the store in `BERTH_DATA`. */
export type Bench = {
  loader: Loader
  seconds: number
  say: (line: string) => void
  folder: string
  env: NodeJS.ProcessEnv
}

/** `fsyncs`: a bare loop of 4 KiB append and fsync, per second. */
export type DurableResult = {
  service: Figures
  ungrouped: Figures
  fsyncs: Spread
  overUngrouped: Spread
  overFsyncs: Spread
}

/** Starts the service over the store of `env` and reads the token that its first start made. */
export async function startService(
  script: string,
  env: NodeJS.ProcessEnv,
  words?: Words,
): Promise<Target & { credentials: Record<'operatorToken' | 'teamId' | 'token', string> }> {
  const server = await startServer(script, env, { words })
  const credentials = JSON.parse(readFileSync(join(env.BERTH_DATA!, 'credentials.json'), 'utf8'))
  return { ...server, token: credentials.token, credentials }
}

/** Creates at 64 connections: the service, the same service with one transaction per create, and the disk alone. */
export async function measureDurable(bench: Bench, opened: Opened): Promise<DurableResult> {
  const env = { ...bench.env, BERTH_DATA: join(bench.folder, 'ungrouped') }
  const single = await startService('scripts/bench/ungrouped.ts', env)
  try {
    const fsyncs: number[] = []
    const count = () => fsyncs.push(fsyncsPerSecond(join(bench.folder, 'appended'), Math.min(bench.seconds, 2)))
    const sides = [opened.server, single].map(({ origin }, at) => ({
      origin,
      asked: async () => ({
        ...CREATE(newNames()),
        headers: { authorization: at === 0 ? opened.authorization() : `Bearer ${single.token}` },
      }),
    }))
    const [ours, theirs] = (await alternate(bench, { name: 'durable', connections: 64 }, sides, count)) as [
      Figures[],
      Figures[],
    ]
    const disk = fsyncs.map((perSecond) => ({ perSecond }))
    return {
      service: medians(ours),
      ungrouped: medians(theirs),
      fsyncs: spread(fsyncs),
      overUngrouped: ratios(ours, theirs),
      overFsyncs: ratios(ours, disk),
    }
  } finally {
    await stopServer(single)
  }
}

/** What the disk gives to a writer that waits for each page. */
function fsyncsPerSecond(file: string, seconds: number): number {
  const handle = openSync(file, 'a', 0o600)
  const page = Buffer.alloc(4096, 1)
  const before = performance.now()
  const end = before + seconds * 1000
  let count = 0
  try {
    for (; performance.now() < end; count++) {
      writeSync(handle, page)
      fsyncSync(handle)
    }
  } finally {
    closeSync(handle)
  }
  return count / ((performance.now() - before) / 1000)
}
