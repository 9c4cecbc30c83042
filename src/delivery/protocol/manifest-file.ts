/** Reads a stored routing manifest. docs/deploying-sites.md: Routing manifest. */
import { PHASES, ROUTING_MANIFEST_VERSION, type RoutingManifest } from './routing-manifest.ts'

/** The text is not a manifest of this version. The message is for users. */
class BadManifest extends Error {}

const LISTS = ['wildcards', 'files', 'functions', 'functionPaths', 'crons'] as const
const DIGEST = /^[0-9a-f]{64}$/

/** Reads a manifest. Throws BadManifest. Only basic checks: its digest is verified, and a schema validator slows the start of a worker. */
export function readManifest(text: string): RoutingManifest {
  const manifest = parse(text)
  const { version, phases } = manifest
  if (version !== ROUTING_MANIFEST_VERSION)
    throw new BadManifest(
      `The routing manifest has the version ${JSON.stringify(version)}, and this sites server knows ${ROUTING_MANIFEST_VERSION}: run the same Berth on both sides.`,
    )
  for (const phase of PHASES) if (!Array.isArray(phases?.[phase])) throw wrongAt(`phases.${phase}`)
  for (const list of LISTS) if (!Array.isArray(manifest[list])) throw wrongAt(list)
  for (const [at, file] of manifest.files!.entries()) if (!isFile(file)) throw wrongAt(`files[${at}]`)
  return manifest as RoutingManifest
}

function parse(text: string): Partial<RoutingManifest> {
  try {
    return Object(JSON.parse(text))
  } catch (error) {
    throw new BadManifest('The routing manifest is not JSON.', { cause: error })
  }
}

function isFile(file: Partial<RoutingManifest['files'][number]> | null): boolean {
  const { path, digest, size, contentType } = file ?? {}
  const isNamed = typeof path === 'string' && path.startsWith('/') && typeof contentType === 'string'
  return isNamed && typeof digest === 'string' && DIGEST.test(digest) && Number.isSafeInteger(size) && size! >= 0
}

function wrongAt(field: string): BadManifest {
  return new BadManifest(`The routing manifest is wrong at ${field}: deploy again.`)
}
