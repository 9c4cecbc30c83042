/** Project settings for sites servers. docs/deploying-sites.md: Project settings. */

/** Absent settings are off. `optionsPaths`: path prefixes in request spelling. */
export type SiteSettings = {
  directoryListing?: boolean
  protectedSourcemaps?: boolean
  optionsPaths?: string[]
  skewProtection?: SkewProtection
  /** The data cache is switched off. */
  dataCacheDisabled?: boolean
  functionDefaults?: FunctionDefaults
}

/** For functions that say nothing: seconds, and MB. */
export type FunctionDefaults = { maxDuration?: number; memory?: number }

/** `maxAge`: in seconds. `boundaryAt`: in milliseconds. `allowedDomains`: host names in lower case, also `*.` and a name. */
export type SkewProtection = { maxAge: number; boundaryAt?: number; allowedDomains?: string[] }

/** These settings in `settings_json`: model/project-settings.ts writes them. */
type Stored = {
  directoryListing?: boolean
  protectedSourcemaps?: boolean
  optionsAllowlist?: { paths: { value: string }[] } | null
  skewProtectionMaxAge?: number
  skewProtectionBoundaryAt?: number | null
  skewProtectionAllowedDomains?: string[] | null
  resourceConfig?: { functionDefaultTimeout?: number; functionDefaultMemoryType?: keyof typeof MEMORY_OF }
}

/** TABLE types of memory → MB. */
const MEMORY_OF = { standard_legacy: 1024, standard: 2048, performance: 4096, performance_xl: 8192 } as const

/** A longer path matches no request, because a line of the snapshot is short. */
const MAX_PATH = 256
/** Characters that a request path always escapes. */
const TO_ESCAPE = /[^\x21-\x7e]|["\\<>^`{|}]/gu
const DOMAIN = /^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/
/** A path with dot segments is not below its prefix: another server may resolve it. */
const UPWARDS = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i

/** Returns the settings of a project; undefined where all are off. */
export function siteSettingsOf(settingsJson: string, dataCacheDisabled = false): SiteSettings | undefined {
  const stored = JSON.parse(settingsJson) as Stored
  const { directoryListing, protectedSourcemaps, optionsAllowlist } = stored
  const optionsPaths = (optionsAllowlist?.paths ?? [])
    .map(({ value }) => value.toWellFormed().replace(TO_ESCAPE, encodeURIComponent))
    .filter((path) => path.length <= MAX_PATH)
  const settings: SiteSettings = {
    ...(directoryListing && { directoryListing }),
    ...(protectedSourcemaps && { protectedSourcemaps }),
    ...(optionsPaths.length > 0 && { optionsPaths }),
    ...(stored.skewProtectionMaxAge && { skewProtection: skewProtectionOf(stored.skewProtectionMaxAge, stored) }),
    ...(dataCacheDisabled && { dataCacheDisabled }),
    ...functionDefaultsOf(stored),
  }
  return Object.keys(settings).length === 0 ? undefined : settings
}

function functionDefaultsOf({ resourceConfig = {} }: Stored): Pick<SiteSettings, 'functionDefaults'> {
  const { functionDefaultTimeout: maxDuration, functionDefaultMemoryType: type } = resourceConfig
  if (maxDuration === undefined && type === undefined) return {}
  return { functionDefaults: { ...(maxDuration && { maxDuration }), ...(type && { memory: MEMORY_OF[type] }) } }
}

function skewProtectionOf(maxAge: number, stored: Stored): SkewProtection {
  const { skewProtectionBoundaryAt: boundaryAt, skewProtectionAllowedDomains: domains } = stored
  const allowedDomains = (domains ?? []).map((domain) => domain.toLowerCase()).filter((domain) => DOMAIN.test(domain))
  return { maxAge, ...(boundaryAt && { boundaryAt }), ...(allowedDomains.length > 0 && { allowedDomains }) }
}

/** Returns whether `OPTIONS` requests to this path bypass the protection. Upstream: OPTIONS Allowlist. */
export function letsOptionsPass(settings: SiteSettings | undefined, path: string): boolean {
  const isBelow = settings?.optionsPaths?.some((allowed) => path.startsWith(allowed)) ?? false
  return isBelow && !UPWARDS.test(path)
}
