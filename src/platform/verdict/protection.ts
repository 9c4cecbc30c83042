/** What guards the deployments of a project, and whom it lets in. Nothing is asked of the store here: the edge decides by it. docs/edge.md: Who passes a protection. */
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
  /** Of the secrets by which automation passes. */
  bypassHashes: ReadonlySet<string>
}

export type AccessAttempt = {
  kind: 'production' | 'preview'
  /** How the visitor came: by a domain of the project, the address of its production that Berth gave, or the own url of a deployment. */
  through: 'domain' | 'address' | 'url'
  ip: string
  /** That the visitor gave the right password; checking one takes some 30 ms, so this asks for the answer. */
  knowsPassword?: boolean
  /** That the visitor is a member of the account. */
  signedIn?: boolean
  /** The secret that the visitor gave. */
  bypass?: string | undefined
}

/** What would let in a visitor who is not let in. */
export type AccessDecision = 'admitted' | 'trusted-ip' | 'password' | 'sign-in'

/** Which visits each part of a protection covers, without anything that lets somebody in. */
export type Coverage = { password?: DeploymentType; signIn?: DeploymentType; trustedIps?: DeploymentType }

/** What a protection covers. */
export function coverageOf({ password, signIn, trustedIps }: Protection): Coverage {
  return {
    ...(password && { password: password.covers }),
    ...(signIn && { signIn: signIn.covers }),
    ...(trustedIps && { trustedIps: trustedIps.covers }),
  }
}

/** A protection that keeps everybody out of what it covers: no password, address or secret opens it. Only `check` of the edge does. */
export function closedProtection({ password, signIn, trustedIps }: Coverage): Protection {
  return {
    password: password && { hash: '', covers: password },
    signIn: signIn && { covers: signIn },
    trustedIps: trustedIps && { isTrusted: () => false, required: true, covers: trustedIps },
    bypassHashes: new Set(),
  }
}

/** What of a project its protection is decided from, as the store keeps it. */
export type ProtectedProject = { settings_json: string; password_hash: string | null; bypass_json: string | null }

/** The protections in `settings_json`: model/project-settings.ts writes them. */
type ProtectionSettings = {
  passwordProtection?: { deploymentType: DeploymentType } | null
  ssoProtection?: { deploymentType: DeploymentType } | null
  trustedIps?: { deploymentType: DeploymentType; protectionMode: string; addresses: { value: string }[] } | null
}

/** What guards a project; undefined when nothing does. Made once and asked often. */
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
 * What guards the source maps of a project that protects them, also where its deployments are open: members sign in, and whatever else lets somebody
 * into any deployment of the project counts. Undefined where it does not protect them. Upstream: Protected Source Maps.
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

/** A secret as the row keeps it: found by its hash, shown by opening it. */
export type BypassEntry = {
  hash: string
  sealed: string
  createdAt: number
  createdBy: string
  isEnvVar?: boolean
  note?: string
}

/** The secrets of a project, oldest first. */
export function bypassOf({ bypass_json }: Pick<ProtectedProject, 'bypass_json'>): BypassEntry[] {
  return bypass_json === null ? [] : (JSON.parse(bypass_json) as BypassEntry[])
}

/**
 * Whether a visit passes. A bypass secret passes everything. With trusted IPs `additional`, the address must match and what
 * else guards still asks; with `exclusive`, a matching address passes by itself, and another one has to pass what else guards,
 * or, where nothing else does, stays out. Of password and sign-in one is enough.
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

/** Whether a sign-in is one of the things that let these visits in. */
export function isForMembers({ signIn }: Protection, visit: Pick<AccessAttempt, 'kind' | 'through'>): boolean {
  return covered(signIn, { ...visit, ip: '' }) !== undefined
}

/** The guard, when it covers this visit. */
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

/** `1.2.3.4` and `10.0.0.0/8`. Visitors that a proxy names as `::ffff:1.2.3.4` are the IPv4 address that they are. */
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
