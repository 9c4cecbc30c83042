/** Makes all artefacts of a release in an empty folder. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundle, EXECUTABLE_ENTRY } from './bundle.ts'
import { type Arch, makeExecutable } from './executable.ts'
import { makeImage, type Source } from './image.ts'
import { librariesOf } from './libraries.ts'
import { licencesOf } from './licences.ts'
import { operatorArchive } from './operator-files.ts'
import { makePackage } from './package.ts'
import { billOfMaterials, provenanceOf, sumsOf } from './papers.ts'
import { debianParts, faceParts, npmParts, runtimePart } from './parts.ts'

/** What is said while it is made. */
export type Said = (line: string) => void

/** Writes everything into the folder `to`, which is emptied first. The same source gives the same bytes. `notes`: the release notes. */
export async function buildRelease(source: Source, notes: string, to: string, say: Said): Promise<void> {
  const { version } = source
  const path = (name: string) => join(to, name)
  rmSync(to, { recursive: true, force: true })
  mkdirSync(to, { recursive: true })
  say('npm package')
  writeFileSync(path(`berth-${version}.tgz`), await makePackage(version))
  writeFileSync(path(`berth-${version}-deploy-and-docs.tar.gz`), operatorArchive(version))
  const { code, packages } = await bundle(EXECUTABLE_ENTRY, version)
  const contentsFor = (arch: Arch) => {
    say(`executable for ${arch}`)
    const executable = path(`berth-${version}-linux-${arch}`)
    makeExecutable(code, arch, executable)
    return { executable, libraries: librariesOf(executable, arch) }
  }
  const contents = { x64: contentsFor('x64'), arm64: contentsFor('arm64') }
  const libraries = Object.values(contents).flatMap((one) => one.libraries)
  const parts = [...npmParts(packages), ...faceParts(), runtimePart(), ...debianParts(libraries)]
  const licences = licencesOf(parts)
  say('image')
  makeImage(contents, licences, source, path('oci'))
  say('papers')
  writeFileSync(path('LICENCES.txt'), licences)
  writeFileSync(path('sbom.cdx.json'), billOfMaterials(version, parts))
  writeFileSync(path('NOTES.md'), notes)
  writeFileSync(path('provenance.json'), provenanceOf(source, sumsOf(to)))
  const lines = sumsOf(to).map(({ name, sum }) => `${sum}  ${name}\n`)
  writeFileSync(path('SHA256SUMS'), lines.join(''))
}
