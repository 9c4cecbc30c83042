/** How long a start takes and what memory it leaves: of the sources, of the npm package and of the executable, in turns. */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { bundle, EXECUTABLE_ENTRY } from '../release/bundle.ts'
import { makeExecutable } from '../release/executable.ts'
import { packageFiles } from '../release/package.ts'
import { ask } from './ask.ts'
import { memoryOf, stopServer } from './children.ts'
import { type Bench, startService } from './measure.ts'
import { type Spread, spread } from './rounds.ts'

const STARTS = 5
const VERSION = '0.0.0-bench'

/** `ms`: from spawn to the first 200. `memory`: in RAM then, in MB. `ofSources`: the median as a part of that of the sources. */
export type StartResult = { way: string; ms: Spread; memory: Spread; ofSources: number }

/** Starts each way five times over the store that is there, after a start that leaves compiled code. The service must not run. */
export async function measureStart({ env, say, folder }: Bench): Promise<StartResult[]> {
  const ways = Object.entries({ sources: 'bin/berth.mjs', ...(await makeOthers(join(folder, 'release'))) })
  const seen = ways.map(() => ({ ms: [] as number[], memory: [] as number[] }))
  for (let start = 0; start <= STARTS; start++) {
    say(`start: ${start} of ${STARTS}`)
    for (const [at, [, script]] of ways.entries()) {
      const one = await startOnce(script, env)
      // The first one leaves compiled code behind.
      if (start > 0) for (const field of ['ms', 'memory'] as const) seen[at]![field].push(one[field])
    }
  }
  const medianOf = (at: number) => spread(seen[at]!.ms).median
  return ways.map(([way], at) => ({
    way,
    ms: spread(seen[at]!.ms),
    memory: spread(seen[at]!.memory),
    ofSources: medianOf(at) / medianOf(0),
  }))
}

async function startOnce(script: string, env: NodeJS.ProcessEnv): Promise<{ ms: number; memory: number }> {
  const before = performance.now()
  const service = await startService(script, env)
  const { status } = await ask(service, { path: '/v9/projects/seeded-project-00000500' })
  const ms = performance.now() - before
  const cache = memoryOf(service)?.now ?? Number.NaN
  await stopServer(service)
  if (status !== 200) throw new Error(`the first answer after a start was ${status}`)
  return { ms, memory: cache }
}

/** Makes the other ways of a start, by name; the executable where Linux is. */
async function makeOthers(folder: string): Promise<Record<string, string>> {
  for (const [name, text] of Object.entries(await packageFiles(VERSION))) {
    const file = join(folder, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  const made = { 'npm package': join(folder, 'bin', 'berth.mjs') }
  if (process.platform !== 'linux' || (process.arch !== 'x64' && process.arch !== 'arm64')) return made
  const [built, executable] = [join(folder, 'built'), join(folder, 'berth')]
  makeExecutable((await bundle(EXECUTABLE_ENTRY, VERSION)).code, process.arch, built)
  // Users run a copy. Of a file that was written at once, as the build does, the kernel maps larger pieces than are read: 45 MB that are not memory of the process.
  copyFileSync(built, executable)
  return { ...made, executable }
}
