/** What is said of the artefacts: what they hold, of what they were made, and what changed. */
import { createHash, hash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Source } from './image.ts'
import type { Part } from './parts.ts'

const root = join(import.meta.dirname, '..', '..')

/** Gives the bill of materials (CycloneDX 1.5) of the parts, without a timestamp, and with a serial number from the content. */
export function billOfMaterials(version: string, parts: readonly Part[]): string {
  const own = { 'bom-ref': `berth@${version}`, type: 'application', name: 'berth', version }
  const bill = {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { component: { ...own, licenses: [{ license: { id: 'MIT' } }] } },
    components: parts.map(componentOf),
    dependencies: [{ ref: own['bom-ref'], dependsOn: parts.map(({ purl }) => purl) }],
  }
  const uuid = hash('sha256', JSON.stringify(bill)).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5')
  return `${JSON.stringify({ ...bill, serialNumber: `urn:uuid:${uuid}` }, null, 2)}\n`
}

function componentOf({ name, version, licence, purl, sha512, cpe }: Part): object {
  // An expression of several words is not an identifier of SPDX.
  const licences = licence.includes(' ') ? [{ expression: licence }] : [{ license: { id: licence } }]
  const hashes = sha512 && { hashes: [{ alg: 'SHA-512', content: sha512 }] }
  return { 'bom-ref': purl, type: 'library', name, version, licenses: licences, ...(cpe && { cpe }), purl, ...hashes }
}

/** Gives the SHA-256 of every file below a folder, as `sha256sum --check` reads it. */
export function sumsOf(folder: string): { name: string; sum: string }[] {
  return globSync('**', { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => ({
      name: path.slice(folder.length + 1),
      sum: createHash('sha256').update(readFileSync(path)).digest('hex'),
    }))
}

/** Gives the statement of what the artefacts were made of (in-toto, SLSA provenance 1). It is not signed. */
export function provenanceOf(
  { version, commit, moment }: Source,
  sums: readonly { name: string; sum: string }[],
): string {
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: sums.map(({ name, sum }) => ({ name, digest: { sha256: sum } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'npm run release',
        externalParameters: { version },
        resolvedDependencies: [
          { name: 'commit', digest: { gitCommit: commit } },
          {
            name: 'package-lock.json',
            digest: { sha256: hash('sha256', readFileSync(join(root, 'package-lock.json'))) },
          },
        ],
      },
      runDetails: {
        builder: { id: `node ${process.versions.node}, ${process.platform}-${process.arch}` },
        metadata: { invocationId: `${commit} of ${moment}` },
      },
    },
  }
  return `${JSON.stringify(statement, null, 2)}\n`
}

/** Returns the section of CHANGELOG.md for a version, or undefined. */
export function changesOf(version: string): string | undefined {
  const sections = readFileSync(join(root, 'CHANGELOG.md'), 'utf8').split(/^(?=## \[)/m)
  return sections.find((section) => section.startsWith(`## [${version}]`))?.trimEnd()
}
