/**
 * Project settings without filters: one JSON column with this schema, for create and update. It has the specification's fields and those of real
 * clients (docs/spec/wire.md 2.3 and 2.5, docs/spec/client-requests.md C.2), stored and returned unchanged.
 */
import type { Static } from 'typebox'
import { Type } from '../platform/schema/builder.ts'
import { AnyJson, AnyObject, Nullable, OneOf, Unsupported } from '../platform/schema/fields.ts'
import { NODE_VERSIONS } from '../platform/settings/types.ts'

import {
  ConnectConfiguration,
  Dismissed,
  Flag,
  FRAMEWORKS,
  GitComments,
  GitProviderOptions,
  MAX_OPEN,
  NullableText,
  OidcTokenConfig,
  OptionsAllowlist,
  PasswordProtection,
  ResourceConfig,
  Sandbox,
  SsoProtection,
  StaticIps,
  Tracing,
  TrustedIps,
} from './setting-schemas.ts'

import { freeFormFields, mustNotExceedSize } from './size-limits.ts'

/** Null in replies when not set. */
const NULLABLE_SETTINGS = {
  buildCommand: NullableText(256),
  commandForIgnoringBuildStep: NullableText(256),
  devCommand: NullableText(256),
  installCommand: NullableText(256),
  outputDirectory: NullableText(256),
  rootDirectory: NullableText(256),
  serverlessFunctionRegion: NullableText(4),
  framework: Nullable(OneOf(...FRAMEWORKS)),
  publicSource: Nullable(Flag),
  enablePreviewFeedback: Nullable(Flag),
  enableProductionFeedback: Nullable(Flag),
  ssoProtection: Nullable(SsoProtection),
  trustedIps: Nullable(TrustedIps),
  optionsAllowlist: Nullable(OptionsAllowlist),
}

/** Replied with DEFAULTS when not set: a Terraform plan reads a missing boolean as drift (docs/spec/client-requests.md C.2). */
const DEFAULTED_SETTINGS = {
  autoAssignCustomDomains: Flag,
  customerSupportCodeVisibility: Flag,
  directoryListing: Flag,
  gitLFS: Flag,
  nodeVersion: OneOf(...NODE_VERSIONS),
  previewDeploymentsDisabled: Nullable(Flag),
  productionDeploymentsFastLane: Flag,
  protectedSourcemaps: Flag,
  skewProtectionMaxAge: Type.Integer({ minimum: 0 }),
}

/** Only in replies when set; null in a request clears them. */
const OPTIONAL_SETTINGS = {
  autoAssignCustomDomainsUpdatedBy: NullableText(256),
  autoExposeSystemEnvs: Nullable(Flag),
  connectConfigurations: Nullable(Type.Array(ConnectConfiguration, { maxItems: 20 })),
  dismissedToasts: Nullable(Type.Array(Dismissed, { maxItems: 50 })),
  enableAffectedProjectsDeployments: Nullable(Flag),
  enableExternalRewriteCaching: Nullable(Flag),
  gitComments: Nullable(GitComments),
  gitProviderOptions: Nullable(GitProviderOptions),
  oidcTokenConfig: Nullable(OidcTokenConfig),
  previewDeploymentSuffix: NullableText(256),
  sandbox: Nullable(Sandbox),
  skewProtectionAllowedDomains: Nullable(Type.Array(Type.String({ maxLength: 253 }), { maxItems: 50 })),
  skewProtectionBoundaryAt: Nullable(Type.Integer({ minimum: 0 })),
  skipGitConnectDuringLink: Nullable(Flag),
  sourceFilesOutsideRootDirectory: Nullable(Flag),
  staticIps: Nullable(StaticIps),
  tracing: Nullable(Tracing),
  trustedSources: Nullable(AnyObject(MAX_OPEN)),
}

/** Settings and protections that Berth does not support. A request that enables one is refused, not stored. */
const REFUSED_SETTINGS = {
  passport: Unsupported('Berth has no connectors, so every visitor would be admitted'),
  deploymentPolicy: Unsupported('the build system decides what is deployed'),
  password: Unsupported('use `passwordProtection`'),
  ipRestrictions: Unsupported('use `trustedIps`'),
  vercelAuthentication: Unsupported('use `ssoProtection`'),
  protectionBypass: Unsupported('PATCH /v1/projects/{idOrName}/protection-bypass manages the secrets'),
}

/** Settings in a request. */
export const SettingsBody = Type.Partial(
  Type.Object({
    ...NULLABLE_SETTINGS,
    ...DEFAULTED_SETTINGS,
    ...OPTIONAL_SETTINGS,
    gitForkProtection: Flag,
    resourceConfig: Nullable(ResourceConfig),
    serverlessFunctionZeroConfigFailover: AnyJson(MAX_OPEN, { description: 'anything; its truth value is kept' }),
    ...REFUSED_SETTINGS,
  }),
)
export type SettingsBody = Static<typeof SettingsBody>

/** The settings of the column. `gitForkProtection` has a column of its own, because lists filter by it. */
export type Settings = Omit<
  SettingsBody,
  'gitForkProtection' | 'serverlessFunctionZeroConfigFailover' | keyof typeof REFUSED_SETTINGS
> & {
  serverlessFunctionZeroConfigFailover?: boolean
  passwordProtection?: Static<typeof PasswordProtection> | null
  /** The user who paused the project last. Not a setting: shown next to `paused`. */
  pausedBy?: string
}

const DEFAULTS = {
  autoAssignCustomDomains: true,
  customerSupportCodeVisibility: false,
  directoryListing: false,
  gitLFS: false,
  nodeVersion: '20.x',
  previewDeploymentsDisabled: false,
  productionDeploymentsFastLane: false,
  protectedSourcemaps: false,
  skewProtectionMaxAge: 0,
  serverlessFunctionZeroConfigFailover: false,
} as const satisfies Settings

const UNSET = Object.fromEntries(Object.keys(NULLABLE_SETTINGS).map((name) => [name, null])) as Record<
  keyof typeof NULLABLE_SETTINGS,
  null
>

/** Every SDK from 1.4.0 on throws without these (docs/spec/wire.md 4.2). */
const DEFAULT_RESOURCES = { functionDefaultRegions: ['iad1'] }

/**
 * Merges a request into the stored settings. Other fields stay; null clears. Adds the fields that the SDKs require in replies. Refuses: bad_request
 * 400 (larger than the limit, and larger than before).
 */
export function mergeSettings(stored: Settings, body: SettingsBody, now: number): Settings {
  const { gitForkProtection: _, serverlessFunctionZeroConfigFailover: failover, ...rest } = body
  const settings = withoutRefused(rest)
  const merged: Settings = {
    ...stored,
    ...settings,
    ...(failover !== undefined && { serverlessFunctionZeroConfigFailover: Boolean(failover) }),
    ...(settings.gitProviderOptions && {
      gitProviderOptions: { createDeployments: 'enabled', ...settings.gitProviderOptions },
    }),
    ...(settings.oidcTokenConfig && { oidcTokenConfig: { enabled: true, ...settings.oidcTokenConfig } }),
    ...(settings.staticIps && { staticIps: { builds: false, regions: [], ...settings.staticIps } }),
    ...(settings.dismissedToasts && {
      dismissedToasts: settings.dismissedToasts.map((dismissedToast) => ({ value: null, ...dismissedToast })),
    }),
    ...(settings.connectConfigurations && {
      connectConfigurations: settings.connectConfigurations.map((connectConfiguration) => ({
        createdAt: now,
        updatedAt: now,
        ...connectConfiguration,
      })),
    }),
  }
  for (const name of Object.keys(settings) as (keyof typeof settings)[])
    if (settings[name] === null) delete merged[name]
  keepRegions(stored, settings, merged)
  mustNotExceedSize(stored, merged, FREE_FORM_SETTINGS, MAX_OPEN_SETTINGS)
  const declared = Object.keys(merged).filter((name) => !FREE_FORM_SETTINGS.includes(name))
  mustNotExceedSize(stored, merged, declared, MAX_DECLARED)
  return merged
}

/**
 * The regions of functions have two names: `functionDefaultRegions`, and `serverlessFunctionRegion` for the first of them. Either sets both; only the
 * sent name is stored.
 */
function keepRegions(stored: Settings, requested: Settings, merged: Settings): void {
  if (requested.resourceConfig?.functionDefaultRegions) delete merged.serverlessFunctionRegion
  else if (merged.resourceConfig) {
    const { functionDefaultRegions: _, ...resources } = merged.resourceConfig
    const previous = stored.resourceConfig?.functionDefaultRegions
    const stays = requested.serverlessFunctionRegion === undefined && previous !== undefined
    merged.resourceConfig = stays ? { ...resources, functionDefaultRegions: previous } : resources
  }
}

/** Removes unsupported settings that were sent with a disabled value. */
function withoutRefused(body: SettingsBody): Settings {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !(name in REFUSED_SETTINGS)))
}

const UNCHANGED = {
  ...UNSET,
  ...DEFAULTS,
  passwordProtection: null,
  resourceConfig: DEFAULT_RESOURCES,
  defaultResourceConfig: DEFAULT_RESOURCES,
}

/** Cached replies by column text, because most projects share a few. Large texts are not cached. */
const shownBefore = new Map<string, Static<typeof SettingsReply>>()
const SHOWN_KEPT = 1000
const MAX_KEPT = 1000

/** Returns the settings of a column for a reply: unset ones as null, with their default, or omitted. Shared: do not modify it. */
export function showSettings(settingsJson: string): Readonly<Static<typeof SettingsReply>> {
  let reply = shownBefore.get(settingsJson)
  if (reply !== undefined) return reply
  const { pausedBy: _, ...stored } = JSON.parse(settingsJson) as Settings
  const first = stored.serverlessFunctionRegion
  const regions = stored.resourceConfig?.functionDefaultRegions ?? (first ? [first] : undefined)
  const resourceConfig = {
    ...DEFAULT_RESOURCES,
    ...stored.resourceConfig,
    ...(regions && { functionDefaultRegions: regions }),
  }
  const serverlessFunctionRegion = regions?.[0] ?? null
  reply = { ...UNCHANGED, ...stored, serverlessFunctionRegion, resourceConfig } as Static<typeof SettingsReply>
  if (settingsJson.length > MAX_KEPT) return reply
  if (shownBefore.size >= SHOWN_KEPT) shownBefore.clear()
  shownBefore.set(settingsJson, reply)
  return reply
}

/** The settings fields of a reply. */
export const ShownSettings = {
  ...NULLABLE_SETTINGS,
  ...DEFAULTED_SETTINGS,
  ...Type.Partial(Type.Object(OPTIONAL_SETTINGS)).properties,
  serverlessFunctionZeroConfigFailover: Flag,
  passwordProtection: Nullable(PasswordProtection),
  resourceConfig: ResourceConfig,
  defaultResourceConfig: ResourceConfig,
}
const SettingsReply = Type.Object(ShownSettings)

/** Settings of any shape, which share a size limit. */
export const FREE_FORM_SETTINGS = freeFormFields(ShownSettings)
export const MAX_OPEN_SETTINGS = 16 * 1024
/** The other settings, in bytes of JSON: a thousand trusted addresses with their notes, and the rest. */
const MAX_DECLARED = 80 * 1024
export const MAX_SETTINGS_BYTES = MAX_OPEN_SETTINGS + MAX_DECLARED
