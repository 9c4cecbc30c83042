/** The licences of all that an artefact holds, as one text. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')
const LINE = `\n${'-'.repeat(80)}\n`

/** Gives the licences of packages, by their folders from the root. Throws for a package without one. */
export function licencesOf(packages: readonly string[]): string {
  return packages.map(licenceOf).join(LINE)
}

function licenceOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
  if (typeof license !== 'string') throw new Error(`${folder}/package.json names no licence`)
  const files = globSync('{LICEN[SC]E,licen[sc]e,NOTICE,COPYING}*', { cwd: join(root, folder) }).sort()
  const texts = files.map((file) => readFileSync(join(root, folder, file), 'utf8').trim())
  return [`${name} ${version}: ${license}`, ...texts].join('\n\n')
}
