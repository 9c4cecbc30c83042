/**
 * The image: an OCI layout with one image for each platform, under one index. Each has one layer, which holds the executable and the libraries that
 * it needs, and nothing else. Written without root and without an engine.
 */
import { hash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { archive, compressed, type Entry } from './archive.ts'
import type { Arch } from './executable.ts'
import type { Library } from './libraries.ts'

/** The source of an image; `moment`: the time of its commit, as ISO 8601. */
export type Source = { version: string; commit: string; moment: string }

const OWNER = 65_532
const LAYER = 'application/vnd.oci.image.layer.v1.tar+gzip'
const CONFIG = 'application/vnd.oci.image.config.v1+json'
const MANIFEST = 'application/vnd.oci.image.manifest.v1+json'
const INDEX = 'application/vnd.oci.image.index.v1+json'
/** Processors, as the OCI format names them. */
const PLATFORMS = {
  x64: { architecture: 'amd64', os: 'linux' },
  arm64: { architecture: 'arm64', os: 'linux' },
} as const
/** Docker and its kin read it; the OCI format has no word for it. */
const HEALTH_CHECK = { Test: ['CMD', '/berth', 'ready'], Interval: 30e9, Timeout: 6e9, StartPeriod: 20e9, Retries: 3 }

type Described = { mediaType: string; digest: string; size: number }
/** Keeps bytes in the layout, and says how they are referred to. */
type Keep = (bytes: Buffer | string, mediaType: string) => Described

/** Of what an image is made for each processor: the file of the executable, and the libraries that it needs. */
export type Contents = Record<Arch, { executable: string; libraries: readonly Library[] }>

/** Writes the layout into the folder `to`. `licences`: the text of all licenses of what is inside. */
export function makeImage(contents: Contents, licences: string, source: Source, to: string): void {
  const keep: Keep = (bytes, mediaType) => {
    const digest = hash('sha256', bytes)
    writeFileSync(join(to, 'blobs', 'sha256', digest), bytes)
    return { mediaType, digest: `sha256:${digest}`, size: Buffer.byteLength(bytes) }
  }
  mkdirSync(join(to, 'blobs', 'sha256'), { recursive: true })
  const arches = Object.keys(contents) as Arch[]
  const manifests = arches.map((arch) => {
    const { executable, libraries } = contents[arch]
    const files = [...libraries, ...ownFiles(executable, licences)]
    return { ...manifestOf(files, arch, source, keep), platform: PLATFORMS[arch] }
  })
  const index = keep(JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests }), INDEX)
  const named = { ...index, annotations: { 'org.opencontainers.image.ref.name': source.version } }
  writeFileSync(join(to, 'index.json'), JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: [named] }))
  writeFileSync(join(to, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }))
}

/** Keeps the image of one platform. */
function manifestOf(files: readonly Entry[], arch: Arch, source: Source, keep: Keep): Described {
  const layer = archive([...foldersOf(files), ...files])
  const layers = [keep(compressed(layer), LAYER)]
  const config = keep(JSON.stringify(configOf(source, arch, hash('sha256', layer))), CONFIG)
  const annotations = annotationsOf(source)
  return keep(JSON.stringify({ schemaVersion: 2, mediaType: MANIFEST, config, layers, annotations }), MANIFEST)
}

function configOf(source: Source, arch: Arch, diffId: string): object {
  const { settings } = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'runtime.json'), 'utf8'))
  // SQLite sorts what is large in a file, and no other folder takes one.
  const env = { PATH: '/', HOST: '0.0.0.0', BERTH_DATA: '/data', SQLITE_TMPDIR: '/data', ...settings }
  return {
    created: source.moment,
    ...PLATFORMS[arch],
    config: {
      User: `${OWNER}:${OWNER}`,
      ExposedPorts: { '3000/tcp': {}, '3001/tcp': {} },
      Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      Entrypoint: ['/berth'],
      Volumes: { '/data': {} },
      WorkingDir: '/data',
      StopSignal: 'SIGTERM',
      Healthcheck: HEALTH_CHECK,
      Labels: annotationsOf(source),
    },
    rootfs: { type: 'layers', diff_ids: [`sha256:${diffId}`] },
    history: [{ created: source.moment, created_by: 'npm run release' }],
  }
}

function annotationsOf({ version, commit, moment }: Source): Record<string, string> {
  return {
    'org.opencontainers.image.title': 'berth',
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.revision': commit,
    'org.opencontainers.image.created': moment,
    'org.opencontainers.image.licenses': 'MIT',
  }
}

function ownFiles(executable: string, licences: string): Entry[] {
  return [
    { name: 'berth', bytes: readFileSync(executable), mode: 0o755 },
    { name: 'LICENCES.txt', bytes: licences, mode: 0o644 },
    { name: 'etc/passwd', bytes: `berth:x:${OWNER}:${OWNER}::/data:/\n`, mode: 0o644 },
    { name: 'etc/group', bytes: `berth:x:${OWNER}:\n`, mode: 0o644 },
    { name: 'data/', mode: 0o700, owner: OWNER },
  ]
}

/** The folders above the entries. */
function foldersOf(entries: readonly Entry[]): Entry[] {
  const above = entries.flatMap(({ name }) => {
    const parts = name.split('/').slice(0, -1)
    return parts.map((_, at) => `${parts.slice(0, at + 1).join('/')}/`)
  })
  const made = new Set(entries.map(({ name }) => name))
  return [...new Set(above)].filter((name) => !made.has(name)).map((name) => ({ name, mode: 0o755 }))
}
