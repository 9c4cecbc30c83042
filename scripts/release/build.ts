/** Makes all artefacts of a release in an empty folder. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundle, EXECUTABLE_ENTRY } from './bundle.ts'
import { type Arch, makeExecutable } from './executable.ts'
import { makeImage, type Source } from './image.ts'
import { licencesOf } from './licences.ts'
import { makePackage } from './package.ts'
import { billOfMaterials, provenanceOf, sumsOf } from './papers.ts'

/** What is said while it is made. */
export type Said = (line: string) => void

/** Writes everything into the folder `to`, which is emptied first. The same source gives the same bytes. `notes`: what people are told about it. */
export async function buildRelease(source: Source, notes: string, to: string, say: Said): Promise<void> {
  const { version } = source
  const path = (name: string) => join(to, name)
  rmSync(to, { recursive: true, force: true })
  mkdirSync(to, { recursive: true })
  say('npm package')
  writeFileSync(path(`berth-${version}.tgz`), await makePackage(version))
  const { code, packages } = await bundle(EXECUTABLE_ENTRY, version)
  const runtime = `node_modules/node-linux-${process.arch}`
  const licences = licencesOf([...packages, runtime])
  const executables = { x64: path(`berth-${version}-linux-x64`), arm64: path(`berth-${version}-linux-arm64`) }
  for (const [arch, file] of Object.entries(executables)) {
    say(`executable for ${arch}`)
    makeExecutable(code, arch as Arch, file)
  }
  say('image')
  makeImage(executables, licences, source, path('oci'))
  say('papers')
  writeFileSync(path('LICENCES.txt'), licences)
  writeFileSync(path('sbom.cdx.json'), billOfMaterials(version))
  writeFileSync(path('NOTES.md'), notes)
  writeFileSync(path('provenance.json'), provenanceOf(source, sumsOf(to)))
  const lines = sumsOf(to).map(({ name, sum }) => `${sum}  ${name}\n`)
  writeFileSync(path('SHA256SUMS'), lines.join(''))
}
