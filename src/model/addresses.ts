/** The addresses that Berth gives to what is deployed. docs/deploying-sites.md: Addresses. */
import { hash } from 'node:crypto'
import type { Config, DomainSettings } from '../config.ts'
import { LAPTOP_SUFFIX } from '../platform/settings/domains.ts'
import { localNames } from '../platform/tls/local-certificate.ts'
import { isUnder } from './domain-name.ts'

const MAX_LABEL = 63

/** TABLE Digits of the hash per kind of address. They differ, so that addresses of two kinds are never equal. */
const DIGITS = { production: 8, deployment: 9, branch: 10 } as const

type Of = { accountId: string; projectId: string; projectName: string }
type Suffix = Pick<DomainSettings, 'platformSuffix'>

/** Returns the permanent host name of a deployment: the project's name and a hash, below the platform suffix. */
export function deploymentAddress(
  { accountId, projectId, projectName, deploymentId }: Of & { deploymentId: string },
  domains: Suffix,
): string {
  return address('deployment', [projectName], [accountId, projectId, deploymentId], domains)
}

/** `alias.address_of` of a production address. */
export const OF_PRODUCTION = 'production'
/** Prefix of `alias.address_of` for a branch. */
export const OF_BRANCH = 'branch '

/** The subject of a movable address: production of a project, or a git branch. `attempt`: another hash, where a name is taken. */
export type Moving = Of & { branch: string | undefined; attempt: number }

/** Returns the host name of a project's production, or of the newest deployment of a branch. */
export function movingAddress({ accountId, projectId, projectName, branch, attempt }: Moving, domains: Suffix): string {
  const hashed = [accountId, projectId, attempt, ...(branch === undefined ? [] : [branch])]
  if (branch === undefined) return address('production', [projectName], hashed, domains)
  return address('branch', [projectName, 'git', branch], hashed, domains)
}

function address(kind: keyof typeof DIGITS, names: string[], hashed: (string | number)[], domains: Suffix): string {
  const end = BigInt(`0x${hash('sha256', JSON.stringify(hashed), 'hex')}`)
    .toString(36)
    .slice(0, DIGITS[kind])
  const words = names
    .join('-')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
  const shown = words.slice(0, MAX_LABEL - DIGITS[kind] - 1).split('-')
  const label = shown.filter((word) => word !== '').join('-')
  return `${label === '' ? NAMELESS : label}-${end}.${suffixOf(domains)}`
}

/** For a project whose name has no letter or digit. */
const NAMELESS = 'site'

/** Returns whether Berth could generate a name, now or later: one label under the suffix that ends in a hyphen and a hash. */
export function couldBeAddress(name: string, domains: Suffix): boolean {
  const label = isOfSuffix(name, domains) ? name.slice(0, -suffixOf(domains).length - 1) : ''
  const end = /-([a-z0-9]+)$/.exec(label)?.[1] ?? ''
  return (Object.values(DIGITS) as number[]).includes(end.length)
}

/**
 * Returns the host of a site with the port that browsers need. On a laptop no server listens on the default ports, so it has the port of the sites
 * server. docs/deploying-sites.md: Local use.
 */
export function openedHost(host: string, config: Pick<Config, 'tls' | 'host' | 'publicUrl' | 'sites'>): string {
  const { port } = config.sites
  return port && isUnder(host, LAPTOP_SUFFIX) && localNames(config) !== undefined ? `${host}:${port}` : host
}

/** Returns the domain of generated addresses. */
export function suffixOf({ platformSuffix = LAPTOP_SUFFIX }: Suffix): string {
  return platformSuffix
}

/** Returns whether a name is the suffix or below it. Only Berth may use such names. */
export function isOfSuffix(name: string, domains: Suffix): boolean {
  const suffix = suffixOf(domains)
  return name === suffix || isUnder(name, suffix)
}
