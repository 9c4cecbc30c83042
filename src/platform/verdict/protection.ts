/** Deployment protection of a project, and the access decision. Pure, because the edge uses it without the database. */
import { BlockList, isIPv4 } from 'node:net'
import { fingerprint } from '../base/ids.ts'

type DeploymentType =
  | 'production'
  | 'preview'
  | 'all'
  | 'prod_deployment_urls_and_all_previews'
  | 'all_except_custom_domains'

export type Protection = {
  /** `hash`: a PHC string, for `passwordMatches`. */
  password: { hash: string; covers: DeploymentType } | undefined
  signIn: { covers: DeploymentType } | undefined
  trustedIps: { isTrusted: (ip: string) => boolean; required: boolean; covers: DeploymentType } | undefined
  /** Hashes of the secrets for automation. */
  bypassHashes: ReadonlySet<string>
}

export type AccessAttempt = {
  kind: 'production' | 'preview'
  /** The visited host: a domain of the project, its production address, or the url of a deployment. */
  through: 'domain' | 'address' | 'url'
  ip: string
  /** Whether the password was right. Checking takes some 30 ms, so it is done only when needed. */
  knowsPassword?: boolean
  signedIn?: boolean
  /** The secret of the request. */
  bypass?: string | undefined
}

/** Why a visit is admitted, or what would admit it. */
export type AccessDecision = 'admitted' | 'trusted-ip' | 'password' | 'sign-in'

/** Which visits each part of a protection covers. */
export type Coverage = { password?: DeploymentType; signIn?: DeploymentType; trustedIps?: DeploymentType }

/** Returns the coverage of a protection. */
export function coverageOf({ password, signIn, trustedIps }: Protection): Coverage {
  return {
    ...(password && { password: password.covers }),
    ...(signIn && { signIn: signIn.covers }),
    ...(trustedIps && { trustedIps: trustedIps.covers }),
  }
}

/** Returns a protection that no password, address or secret opens, with the same coverage. Only `check` of the edge admits visits. */
export function closedProtection({ password, signIn, trustedIps }: Coverage): Protection {
  return {
    password: password && { hash: '', covers: password },
    signIn: signIn && { covers: signIn },
    trustedIps: trustedIps && { isTrusted: () => false, required: true, covers: trustedIps },
    bypassHashes: new Set(),
  }
}

/** The columns of a project that define its protection. */
export type ProtectedProject = { settings_json: string; password_hash: string | null; bypass_json: string | null }

/** The protections in `settings_json`: model/project-settings.ts writes them. */
type ProtectionSettings = {
  passwordProtection?: { deploymentType: DeploymentType } | null
  ssoProtection?: { deploymentType: DeploymentType } | null
  trustedIps?: { deploymentType: DeploymentType; protectionMode: string; addresses: { value: string }[] } | null
}

/** Returns the protection of a project, or undefined. It is computed once per change. */
export function protectionOf(project: ProtectedProject): Protection | undefined {
  const { passwordProtection, ssoProtection, trustedIps } = JSON.parse(project.settings_json) as ProtectionSettings
  const hash = project.password_hash
  const password = passwordProtection && hash !== null ? { hash, covers: passwordProtection.deploymentType } : undefined
  if (!password && !ssoProtection && !trustedIps) return undefined
  return {
    password,
    signIn: ssoProtection ? { covers: ssoProtection.deploymentType } : undefined,
    trustedIps: trustedIps
      ? {
          isTrusted: matcherOf(trustedIps.addresses.map(({ value }) => value)),
          required: trustedIps.protectionMode === 'additional',
          covers: trustedIps.deploymentType,
        }
      : undefined,
    bypassHashes: bypassHashesOf(project),
  }
}

/**
 * Returns the protection of source maps, also of public deployments, or undefined. Members sign in, and every bypass of the project also applies.
 * Upstream: Protected Source Maps.
 */
export function sourceMapProtectionOf(project: ProtectedProject): Protection | undefined {
  const { protectedSourcemaps } = JSON.parse(project.settings_json) as { protectedSourcemaps?: boolean }
  if (!protectedSourcemaps) return undefined
  const { password, trustedIps } = protectionOf(project) ?? {}
  return {
    password: password && { ...password, covers: 'all' },
    signIn: { covers: 'all' },
    trustedIps: trustedIps && { ...trustedIps, covers: 'all' },
    bypassHashes: bypassHashesOf(project),
  }
}

function bypassHashesOf(project: ProtectedProject): ReadonlySet<string> {
  return new Set(bypassOf(project).map((entry) => entry.hash))
}

/** A bypass secret of the row: found by its hash, shown by decrypting it. */
export type BypassEntry = {
  hash: string
  sealed: string
  createdAt: number
  createdBy: string
  isEnvVar?: boolean
  note?: string
}

/** Returns the bypass secrets of a project, oldest first. */
export function bypassOf({ bypass_json }: Pick<ProtectedProject, 'bypass_json'>): BypassEntry[] {
  return bypass_json === null ? [] : (JSON.parse(bypass_json) as BypassEntry[])
}

/**
 * Decides whether a visit is admitted. A bypass secret admits all. Trusted IPs with `additional` are required next to the rest; with `exclusive` a
 * match admits, and without one the rest decides, or the visit is denied. Password and sign-in are alternatives.
 */
export function decideAccess(protection: Protection, visit: AccessAttempt): AccessDecision {
  if (visit.bypass !== undefined && protection.bypassHashes.has(fingerprint(visit.bypass))) return 'admitted'
  const password = covered(protection.password, visit)
  const signIn = covered(protection.signIn, visit)
  const ips = covered(protection.trustedIps, visit)
  if (ips !== undefined) {
    const trusted = ips.isTrusted(visit.ip)
    if (!trusted && (ips.required || !(password || signIn))) return 'trusted-ip'
    if (trusted && !ips.required) return 'admitted'
  }
  if (password === undefined && signIn === undefined) return 'admitted'
  if (password && visit.knowsPassword) return 'admitted'
  if (signIn && visit.signedIn) return 'admitted'
  return password ? 'password' : 'sign-in'
}

/** Returns whether a sign-in can admit these visits. */
export function isForMembers({ signIn }: Protection, visit: Pick<AccessAttempt, 'kind' | 'through'>): boolean {
  return covered(signIn, { ...visit, ip: '' }) !== undefined
}

function covered<G extends { covers: DeploymentType }>(guard: G | undefined, visit: AccessAttempt): G | undefined {
  return guard !== undefined && COVERS[guard.covers](visit) ? guard : undefined
}

const COVERS: Record<DeploymentType, (visit: AccessAttempt) => boolean> = {
  all: () => true,
  production: ({ kind }) => kind === 'production',
  preview: ({ kind }) => kind === 'preview',
  prod_deployment_urls_and_all_previews: ({ kind, through }) => kind === 'preview' || through === 'url',
  all_except_custom_domains: ({ through }) => through !== 'domain',
}

/** Matches `1.2.3.4` and `10.0.0.0/8`. A visitor address `::ffff:1.2.3.4` counts as IPv4. */
function matcherOf(addresses: readonly string[]): (ip: string) => boolean {
  const list = new BlockList()
  for (const value of addresses) {
    const [address = '', bits] = value.split('/')
    if (bits === undefined) list.addAddress(address)
    else list.addSubnet(address, Number(bits))
  }
  return (address) => {
    const ip = /^::ffff:(\d+(?:\.\d+){3})$/i.exec(address)?.[1] ?? address
    return isIPv4(ip) && list.check(ip)
  }
}
