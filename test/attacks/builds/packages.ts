/** Packages of the registry of a lab, as npm reads them. */
import { createHash } from 'node:crypto'
import { file, tgz } from '../../delivery/archive/tar.ts'

/** An address on the internet of a lab. */
const REGISTRY_HOST = '192.88.7.7'
export const REGISTRY_PORT = 4873

/** The address of a registry: test/attacks/builds/registry.ts. */
export function registryAt(name: string, port = REGISTRY_PORT): string {
  return `http://${REGISTRY_HOST}:${port}/${name}/`
}

function manifestOf(name: string) {
  return { name, version: '1.0.0', main: 'index.js' }
}

export function tarballOf(name: string): Buffer {
  return tgz(
    file('package/package.json', JSON.stringify(manifestOf(name))),
    // Long enough to be half of itself.
    file('package/index.js', `module.exports = ${JSON.stringify(createHash('sha256').update(name).digest('hex'))}\n`),
  )
}

export function integrityOf(bytes: Buffer): string {
  return `sha512-${createHash('sha512').update(bytes).digest('base64')}`
}

export function packumentOf(registry: string, name: string) {
  const bytes = tarballOf(name)
  const shasum = createHash('sha1').update(bytes).digest('hex')
  const dist = { tarball: `${registryAt(registry)}${name}/-/${name}-1.0.0.tgz`, integrity: integrityOf(bytes), shasum }
  return { name, 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': { ...manifestOf(name), dist } } }
}
