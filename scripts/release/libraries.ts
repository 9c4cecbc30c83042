/** The C and C++ libraries that an executable is linked with, as this machine has them. docs/releasing.md: Image libraries. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Entry } from './archive.ts'
import type { Arch } from './executable.ts'

/** A library as the image holds it. `path`: where this machine has it. */
export type Library = Entry & { path: string }

/** TABLE where Debian and Ubuntu put libraries for arm64 on another processor, the best first. `late`: they get no security updates. */
const ARM64_PLACES = [
  { folder: '/usr/lib/aarch64-linux-gnu', late: false },
  { folder: '/usr/aarch64-linux-gnu/lib', late: true },
]
/** TABLE what the runtime for arm64 is linked with, and what that is linked with. No program of this machine can ask it. */
const ARM64_LIBRARIES = [
  'ld-linux-aarch64.so.1',
  'libatomic.so.1',
  'libc.so.6',
  'libdl.so.2',
  'libgcc_s.so.1',
  'libm.so.6',
  'libpthread.so.0',
  'libstdc++.so.6',
]
export const ARM64_PACKAGES = 'libstdc++6-arm64-cross libatomic1-arm64-cross'

/** Returns the first directory that has all libraries for arm64. Throws without one, with what to install. */
export function arm64Place(places = ARM64_PLACES): { folder: string; late: boolean } {
  const place = places.find(({ folder }) => ARM64_LIBRARIES.every((name) => existsSync(join(folder, name))))
  if (place !== undefined) return place
  throw new Error(
    `this machine has no libraries for arm64, which the image needs: install libstdc++6:arm64 and libatomic1:arm64, or ${ARM64_PACKAGES} (docs/releasing.md)`,
  )
}

/** Gives the libraries, at the paths where the loader looks. Throws when this machine lacks one, with what to install. */
export function librariesOf(executable: string, arch: Arch): Library[] {
  return arch === process.arch ? ownLibraries(executable) : arm64Libraries()
}

function ownLibraries(executable: string): Library[] {
  const said = execFileSync('ldd', [executable], { encoding: 'utf8' })
  const missing = /^\s*(\S+) => not found/m.exec(said)
  if (missing)
    throw new Error(`this machine has no ${missing[1]}, which the executable needs: install it (docs/releasing.md)`)
  const paths = [...said.matchAll(/(\/\S+) \(0x/g)].map(([, path]) => path!)
  return paths.map((path) => libraryAt(path, path.slice(1)))
}

function arm64Libraries(): Library[] {
  const { folder } = arm64Place()
  return ARM64_LIBRARIES.map((name) => libraryAt(join(folder, name), `lib/${name}`))
}

function libraryAt(path: string, name: string): Library {
  return { name, bytes: readFileSync(path), mode: 0o755, path }
}
