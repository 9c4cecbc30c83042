/** The third-party parts of the artifacts. The licenses and the bill of materials are made of these parts alone. docs/releasing.md: Third-party components. */
import { execFileSync, spawnSync } from 'node:child_process'
import { globSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { Library } from './libraries.ts'

/** `licence`: an SPDX expression. `purl`: the package URL. `texts`: the license in words. `sha512`: of the file at the registry, in hexadecimal digits. */
export type Part = {
  name: string
  version: string
  licence: string
  purl: string
  texts: string[]
  sha512?: string
  cpe?: string
}

const root = join(import.meta.dirname, '..', '..')
const read = (path: string) => readFileSync(path, 'utf8').trim()
/** What dpkg-query says of a package. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg-query fills it in.
const FORMAT = '${Package} ${Version} ${Architecture}'
/** TABLE the license of each Debian package. Its copyright file has it in words, and in no form for programs. */
const DEBIAN_LICENCES: Record<string, string> = {
  libc6: 'LGPL-2.1-or-later',
  libatomic1: 'GPL-3.0-or-later WITH GCC-exception-3.1',
  'libgcc-s1': 'GPL-3.0-or-later WITH GCC-exception-3.1',
  'libstdc++6': 'GPL-3.0-or-later WITH GCC-exception-3.1',
}

/** Gives npm packages as parts, by their folders from the root. One that lies in two folders in one version is one part. Throws for one that names no license. */
export function npmParts(folders: readonly string[]): Part[] {
  const { packages } = JSON.parse(read(join(root, 'package-lock.json')))
  const parts = folders.map((folder) => {
    const { name, version, license } = JSON.parse(read(join(root, folder, 'package.json')))
    if (typeof license !== 'string') throw new Error(`${folder}/package.json names no license`)
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
    const [, hash] = /^sha512-(.+)$/.exec(packages[folder]?.integrity ?? '') ?? []
    const sha512 = hash && { sha512: Buffer.from(hash, 'base64').toString('hex') }
    return { name, version, licence: license, purl, texts: textsOf(folder), ...sha512 }
  })
  return [...new Map(parts.map((part) => [part.purl, part])).values()]
}

const FACE = join(root, 'src', 'platform', 'pages', 'assets', 'licences')

/** Gives what pages show of others: subsets of two fonts, and icons. Their files are in src/platform/pages. */
export function faceParts(): Part[] {
  const part = (name: string, version: string, licence: string, file: string): Part => {
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
    return { name, version, licence, purl, texts: [read(join(FACE, file))] }
  }
  return [
    part('@fontsource-variable/geist-mono', '5.3.0', 'OFL-1.1', 'geist-mono-OFL-1.1.txt'),
    part('@fontsource-variable/hanken-grotesk', '5.3.0', 'OFL-1.1', 'hanken-grotesk-OFL-1.1.txt'),
    part('lucide-static', '1.62.0', 'ISC AND MIT', 'lucide-ISC-MIT.txt'),
  ]
}

/** Gives the Node.js of the executables as a part. */
export function runtimePart(): Part {
  const folder = `node_modules/node-linux-${process.arch}`
  const { version, license } = JSON.parse(read(join(root, folder, 'package.json')))
  const cpe = `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`
  return { name: 'node', version, licence: license, purl: `pkg:generic/node@${version}`, texts: textsOf(folder), cpe }
}

/** Gives the packages that brought the libraries to this machine, each once. Throws where dpkg knows no package of one, or the license of one is not known here. */
export function debianParts(libraries: readonly Library[]): Part[] {
  const system = read('/etc/os-release')
  const wordOf = (key: string) => new RegExp(`^${key}="?([^"\\n]*)`, 'm').exec(system)?.[1] ?? ''
  const [id, distro] = [wordOf('ID'), `${wordOf('ID')}-${wordOf('VERSION_ID')}`]
  return debianPackagesOf(libraries.map(({ path }) => path)).map((owner) => {
    const said = execFileSync('dpkg-query', ['-W', '-f', FORMAT, owner])
    const [name = '', version = '', arch = ''] = said.toString().split(' ')
    const licence = DEBIAN_LICENCES[name.replace(/-arm64-cross$/, '')]
    if (licence === undefined)
      throw new Error(`the license of the Debian package ${name} is not in ${import.meta.filename}`)
    const purl = `pkg:deb/${id}/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${arch}&distro=${distro}`
    const text = read(`/usr/share/doc/${name}/copyright`)
    // It refers to licenses that every Debian has, and the image has not.
    const named = text.match(/(?<=\/usr\/share\/common-licenses\/)[A-Z][A-Za-z]*(?:-\d+(?:\.\d+)?)?/g) ?? []
    const common = [...new Set(named)].sort().map((one) => read(`/usr/share/common-licenses/${one}`))
    return { name, version, licence, purl, texts: [text, ...common] }
  })
}

/** The packages, each with its architecture where there may be several, that files of this machine are of. */
function debianPackagesOf(paths: string[]): string[] {
  // dpkg knows a file by the path of its package, which may say /lib for what is now in /usr/lib.
  const namesOf = (path: string) => [path, realpathSync(path), realpathSync(path).replace(/^\/usr/, '')]
  // It ends with 1 for a name that it does not know, and says the others.
  const { stdout } = spawnSync('dpkg-query', ['-S', ...new Set(paths.flatMap(namesOf))], { encoding: 'utf8' })
  const said = (stdout ?? '').matchAll(/^([a-z0-9][^:\s]*(?::[a-z0-9]+)?): (\/.*)$/gm)
  const owners = new Map([...said].map(([, owner, path]) => [path!, owner!]))
  const found = paths.map((path) => {
    const owner = namesOf(path).flatMap((name) => owners.get(name) ?? [])[0]
    if (owner !== undefined) return owner
    throw new Error(`dpkg knows no package of ${path}: make the release on Debian or Ubuntu (docs/releasing.md)`)
  })
  return [...new Set(found)].sort()
}

function textsOf(folder: string): string[] {
  const files = globSync('{LICEN[SC]E,licen[sc]e,NOTICE,COPYING}*', { cwd: join(root, folder) }).sort()
  return files.map((file) => read(join(root, folder, file)))
}
