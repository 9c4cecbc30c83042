/** The addresses that Berth gives to what is deployed. docs/deploying-sites.md: Addresses. */
import { hash } from 'node:crypto'
import type { Config, DomainSettings } from '../config.ts'
import { LAPTOP_SUFFIX } from '../platform/settings/domains.ts'
import { localNames } from '../platform/tls/local-certificate.ts'
import { isUnder } from './domain-name.ts'

const MAX_LABEL = 63

/** TABLE what an address is of -> the digits of its hash. They differ, so that addresses of two kinds are never equal. */
const DIGITS = { production: 8, deployment: 9, branch: 10 } as const

type Of = { accountId: string; projectId: string; projectName: string }
type Suffix = Pick<DomainSettings, 'platformSuffix'>

/** The host name at which a deployment is always found: the project's name and a hash, below the suffix of the platform. */
export function deploymentAddress(
  { accountId, projectId, projectName, deploymentId }: Of & { deploymentId: string },
  domains: Suffix,
): string {
  return address('deployment', [projectName], [accountId, projectId, deploymentId], domains)
}

/** `alias.address_of` of the address of production. */
export const OF_PRODUCTION = 'production'
/** What `alias.address_of` of the address of a branch begins with. */
export const OF_BRANCH = 'branch '

/** What an address that moves is of: production of a project, or a git branch. `attempt`: another hash, where the name of the first is taken. */
export type Moving = Of & { branch: string | undefined; attempt: number }

/** The host name at which production of a project, or the newest deployment of a branch, is found. */
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

/** The words of a project whose name has no letter or digit. */
const NAMELESS = 'site'

/** Whether a name is one that Berth could give to anything, now or later: one label under the suffix that ends in a hyphen and as many letters or digits as a hash has. */
export function couldBeAddress(name: string, domains: Suffix): boolean {
  const label = isOfSuffix(name, domains) ? name.slice(0, -suffixOf(domains).length - 1) : ''
  const end = /-([a-z0-9]+)$/.exec(label)?.[1] ?? ''
  return (Object.values(DIGITS) as number[]).includes(end.length)
}

/**
 * A host name as people open it: on a laptop nothing listens on the ports of browsers, so a name of a site there has the port of its sites
 * server, which speaks http and https. docs/deploying-sites.md: On a laptop.
 */
export function openedHost(host: string, config: Pick<Config, 'tls' | 'host' | 'publicUrl' | 'sites'>): string {
  const { port } = config.sites
  return port && isUnder(host, LAPTOP_SUFFIX) && localNames(config) !== undefined ? `${host}:${port}` : host
}

/** The domain below which Berth gives addresses. */
export function suffixOf({ platformSuffix = LAPTOP_SUFFIX }: Suffix): string {
  return platformSuffix
}

/** Whether a name is the suffix or below it: such names are Berth's alone. */
export function isOfSuffix(name: string, domains: Suffix): boolean {
  const suffix = suffixOf(domains)
  return name === suffix || isUnder(name, suffix)
}
