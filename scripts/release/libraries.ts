/** The C and C++ libraries that an executable is linked with: those of this machine, or those that it has for the other processor. docs/releasing.md. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Entry } from './archive.ts'
import type { Arch } from './executable.ts'

/** Where Debian and Ubuntu keep the libraries of another processor, and the packages that bring them. */
export const ARM64_ROOT = '/usr/aarch64-linux-gnu'
export const ARM64_PACKAGES = 'libstdc++6-arm64-cross libatomic1-arm64-cross'
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
].map((name) => join('lib', name))

/** What of it this machine lacks. */
export function lackingArm64(): string[] {
  return ARM64_LIBRARIES.filter((path) => !existsSync(join(ARM64_ROOT, path)))
}

/** Gives the libraries, at the paths where the loader looks. Throws when this machine lacks one, with what to install. */
export function librariesOf(executable: string, arch: Arch): Entry[] {
  return arch === process.arch ? ownLibraries(executable) : arm64Libraries()
}

function ownLibraries(executable: string): Entry[] {
  const said = execFileSync('ldd', [executable], { encoding: 'utf8' })
  const missing = /^\s*(\S+) => not found/m.exec(said)
  if (missing)
    throw new Error(`this machine has no ${missing[1]}, which the executable needs: install it (docs/releasing.md)`)
  const paths = [...said.matchAll(/(\/\S+) \(0x/g)].map(([, path]) => path!)
  return paths.map((path) => ({ name: path.slice(1), bytes: readFileSync(path), mode: 0o755 }))
}

function arm64Libraries(): Entry[] {
  const [missing] = lackingArm64()
  if (missing !== undefined)
    throw new Error(
      `this machine has no ${join(ARM64_ROOT, missing)}, which the image for arm64 needs: install ${ARM64_PACKAGES} (docs/releasing.md)`,
    )
  return ARM64_LIBRARIES.map((path) => ({ name: path, bytes: readFileSync(join(ARM64_ROOT, path)), mode: 0o755 }))
}
