/** Mutants that do not compile. They could not be committed, so they measure no test. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Mutant, mutate } from './mutants.ts'

/** The files with errors where the files of `mutated` hold these texts. */
export type Errors = (mutated: ReadonlyMap<string, string>) => Promise<Set<string>>

/**
 * Adds to `refused` the mutants that do not compile. Many are asked at a time, one of each file. An error within its own file is a mutant's
 * own. Where errors are in other files alone, those that such a file imports are asked apart, then halves, until one mutant is left.
 */
export async function refuseByTypes(
  root: string,
  mutants: readonly Mutant[],
  errorsOf: Errors,
  refused: Set<Mutant>,
): Promise<void> {
  const textOf = (file: string) => readFileSync(join(root, file), 'utf8')
  const ask = async (asked: readonly Mutant[]): Promise<void> => {
    if (asked.length === 0) return
    const errors = await errorsOf(new Map(asked.map((mutant) => [mutant.file, mutate(textOf(mutant.file), mutant)])))
    if (errors.size === 0) return
    const own = asked.filter(({ file }) => errors.has(file))
    if (own.length > 0 || asked.length === 1) {
      for (const mutant of own.length > 0 ? own : asked) refused.add(mutant)
      return ask(asked.filter((mutant) => !refused.has(mutant)))
    }
    const texts = [...errors].map(textOf)
    const suspects = asked.filter(({ file }) => texts.some((text) => text.includes(`/${file.split('/').at(-1)}'`)))
    const parted = suspects.length > 0 && suspects.length < asked.length ? suspects : asked.slice(0, asked.length / 2)
    await ask(parted)
    await ask(asked.filter((mutant) => !parted.includes(mutant)))
  }
  for (let left = [...mutants]; left.length > 0; ) {
    const batch = [...new Map(left.map((mutant) => [mutant.file, mutant])).values()]
    await ask(batch)
    left = left.filter((mutant) => !batch.includes(mutant))
  }
}

/** Asks tsc about src, in a copy of it below `folder`, one question at a time; what it found out is kept, so that a mutant costs what its file costs. */
export function openTypes(root: string, folder: string, stop: AbortSignal): Errors {
  const copy = join(folder, 'types')
  rmSync(join(copy, 'src'), { recursive: true, force: true })
  cpSync(join(root, 'src'), join(copy, 'src'), { recursive: true })
  for (const file of ['package.json', 'tsconfig.json']) copyFileSync(join(root, file), join(copy, file))
  const config = { extends: './tsconfig.json', include: ['src'], compilerOptions: { incremental: true } }
  writeFileSync(join(copy, 'tsconfig.src.json'), JSON.stringify(config))
  if (!existsSync(join(copy, 'node_modules'))) symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  let asked: Promise<unknown> = Promise.resolve()
  return (mutated) => {
    const answer = asked.then(() => ask(mutated))
    asked = answer.catch(() => {})
    return answer
  }

  async function ask(mutated: ReadonlyMap<string, string>): Promise<Set<string>> {
    for (const [file, text] of mutated) writeFileSync(join(copy, file), text)
    try {
      const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
      const words = [tsc, '-p', 'tsconfig.src.json', '--pretty', 'false']
      const child = spawn(process.execPath, words, { cwd: copy, signal: stop, stdio: ['ignore', 'pipe', 'inherit'] })
      let said = ''
      child.stdout.setEncoding('utf8').on('data', (text) => {
        said += text
      })
      const [code] = await once(child, 'close')
      const errors = new Set([...said.matchAll(/^(\S+?)\(\d+,\d+\): error /gm)].map(([, file]) => file!))
      if (code !== 0 && errors.size === 0) throw new Error(`tsc failed: ${said}`)
      return errors
    } finally {
      for (const file of mutated.keys()) copyFileSync(join(root, file), join(copy, file))
    }
  }
}
