/** The npm package: the bundle, its declarations, the command `berth`, and the files for operators. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { archive, compressed, type Entry } from './archive.ts'
import { bundle, PACKAGE_ENTRY } from './bundle.ts'
import { licencesOf } from './licences.ts'
import { operatorTexts } from './operator-files.ts'
import { faceParts, npmParts } from './parts.ts'

export const PACKAGE_NAME = '@berth-platform/berth'

const root = join(import.meta.dirname, '..', '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** Gives the bytes of the package, as npm installs it. */
export async function makePackage(version: string): Promise<Buffer> {
  const entries = Object.entries(await packageFiles(version)).map(
    ([name, bytes]): Entry => ({ name: `package/${name}`, bytes, mode: name === 'bin/berth.mjs' ? 0o755 : 0o644 }),
  )
  return compressed(archive(entries))
}

/** Gives the text of each file of the package, by its path there. */
export async function packageFiles(version: string): Promise<Record<string, string>> {
  const { code, packages } = await bundle(PACKAGE_ENTRY, version)
  return {
    'package.json': `${JSON.stringify(manifest(version), null, 2)}\n`,
    'berth.mjs': code,
    'berth.d.ts': `${read('src/package-types.ts')}\nexport declare const startBerth: StartBerth\n`,
    'bin/berth.mjs': read('bin/package.mjs'),
    'bin/compile-cache.mjs': read('bin/compile-cache.mjs'),
    'bin/stop-with-shell.mjs': read('bin/stop-with-shell.mjs'),
    'README.md': read('scripts/release/package-readme.md'),
    LICENSE: read('LICENSE'),
    'LICENCES-OF-OTHERS.txt': licencesOf([...npmParts(packages), ...faceParts()]),
    ...operatorTexts(),
  }
}

function manifest(version: string): object {
  const { description, license } = JSON.parse(read('package.json'))
  return {
    name: PACKAGE_NAME,
    version,
    description,
    license,
    type: 'module',
    engines: { node: '>=24.15' },
    bin: { berth: 'bin/berth.mjs' },
    exports: { '.': { types: './berth.d.ts', default: './berth.mjs' } },
  }
}
