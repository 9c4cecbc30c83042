/** The addresses that Berth gives to what is deployed. docs/deploying-sites.md: Addresses. */
import { hash } from 'node:crypto'
import type { DomainSettings } from '../../config.ts'
import { LAPTOP_SUFFIX } from '../../platform/settings/domains.ts'

const LONGEST_LABEL = 63
const DIGITS = 9

/** What an address is of. Names that look alike end in another hash. */
type Addressed = { accountId: string; projectId: string; projectName: string; deploymentId: string }

/** The host name at which a deployment is always found: the project's name and a hash, below the suffix of the platform. */
export function deploymentAddress(
  { accountId, projectId, projectName, deploymentId }: Addressed,
  { platformSuffix = LAPTOP_SUFFIX }: Pick<DomainSettings, 'platformSuffix'>,
): string {
  const digest = hash('sha256', JSON.stringify([accountId, projectId, deploymentId]), 'hex')
  const end = BigInt(`0x${digest}`).toString(36).slice(0, DIGITS)
  const words = projectName.replaceAll(/[^a-z0-9]+/g, '-').slice(0, LONGEST_LABEL - DIGITS - 1)
  const name = [...words.split('-').filter((word) => word !== ''), end].join('-')
  return `${name}.${platformSuffix}`
}
