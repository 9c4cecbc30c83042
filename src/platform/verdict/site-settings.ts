/** The settings of a project by which sites servers answer visitors. docs/deploying-sites.md: Settings of the project. */

/** What is absent is off. `optionsPaths`: beginnings of paths, as they are written in a request. */
export type SiteSettings = {
  directoryListing?: boolean
  protectedSourcemaps?: boolean
  optionsPaths?: string[]
  skewProtection?: SkewProtection
}

/** `maxAge`: in seconds. `boundaryAt`: in milliseconds. `allowedDomains`: names of hosts in lower case, or `*.` and such a name. */
export type SkewProtection = { maxAge: number; boundaryAt?: number; allowedDomains?: string[] }

/** These settings as `settings_json` keeps them: model/project-settings.ts writes them. */
type Stored = {
  directoryListing?: boolean
  protectedSourcemaps?: boolean
  optionsAllowlist?: { paths: { value: string }[] } | null
  skewProtectionMaxAge?: number
  skewProtectionBoundaryAt?: number | null
  skewProtectionAllowedDomains?: string[] | null
}

/** A path of more characters passes nobody: a line of the snapshot is short. */
const MAX_PATH = 256
/** What no path of a request has as it is. */
const TO_ESCAPE = /[^\x21-\x7e]|["\\<>^`{|}]/gu
/** What is no name of a host matches none. */
const DOMAIN = /^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/
/** A path that leads upwards is not below the one that it begins with: another server may resolve it. */
const UPWARDS = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i

/** The settings that a project has; undefined where all are off. */
export function siteSettingsOf(settingsJson: string): SiteSettings | undefined {
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
  }
  return Object.keys(settings).length === 0 ? undefined : settings
}

function skewProtectionOf(maxAge: number, stored: Stored): SkewProtection {
  const { skewProtectionBoundaryAt: boundaryAt, skewProtectionAllowedDomains: domains } = stored
  const allowedDomains = (domains ?? []).map((domain) => domain.toLowerCase()).filter((domain) => DOMAIN.test(domain))
  return { maxAge, ...(boundaryAt && { boundaryAt }), ...(allowedDomains.length > 0 && { allowedDomains }) }
}

/** Whether the project lets `OPTIONS` requests to this path pass its protection. Upstream: OPTIONS Allowlist. */
export function letsOptionsPass(settings: SiteSettings | undefined, path: string): boolean {
  const isBelow = settings?.optionsPaths?.some((allowed) => path.startsWith(allowed)) ?? false
  return isBelow && !UPWARDS.test(path)
}
