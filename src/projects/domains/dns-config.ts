/** Checks whether a domain points to the edge: public DNS against the configured addresses. docs/spec/wire.md 6. */

import type { Ctx, Input } from '../../context.ts'
import { canonicalName } from '../../model/domain-name.ts'
import type { DnsAnswer } from '../../platform/adapters/dns.ts'
import { countDnsLookup } from '../domain-verification/challenge.ts'
import type { DomainConfig } from './schema.ts'

/**
 * Returns the DNS configuration of a name. It is misconfigured if it does not resolve, or partly resolves elsewhere, or if its
 * servers do not respond, since it gets no certificate then. Refuses: invalid_domain 400, rate_limited 429.
 */
export async function showDomainConfig(ctx: Ctx, _: undefined, { params }: Input): Promise<DomainConfig> {
  const settings = ctx.deps.config.domains
  const name = canonicalName(params.domain ?? '', settings)
  await countDnsLookup(ctx, name)
  const { edgeCname, edgeIpv4 } = settings
  const [records, ours] = await Promise.all([
    lookAt(ctx, name),
    edgeCname === undefined ? undefined : lookAt(ctx, edgeCname),
  ])
  const isEdgeKnown = edgeCname !== undefined || edgeIpv4.length > 0
  const expected = new Set([...edgeIpv4, ...(ours?.addresses ?? [])])
  const configuredBy = isEdgeKnown ? pointingHere(records, edgeCname, expected) : resolving(records)
  return {
    misconfigured: configuredBy === null,
    configuredBy,
    acceptedChallenges: configuredBy === null ? [] : ['http-01'],
    recommendedCNAME: edgeCname === undefined ? [] : [{ rank: 1, value: edgeCname }],
    recommendedIPv4: edgeIpv4.length === 0 ? [] : [{ rank: 1, value: edgeIpv4 }],
    ...UNTOLD,
  }
}

/** Fields that clients require. docs/domains.md: Whether a domain points here. */
const UNTOLD = { serviceType: 'external' as const, nameservers: [], cnames: [], aValues: [], conflicts: [] }

type Records = { cname: string | undefined; addresses: string[] }

async function lookAt(ctx: Ctx, name: string): Promise<Records> {
  const { dns } = ctx.deps.adapters
  const asker = ctx.account.id
  const [cnames, v4, v6] = await Promise.all([
    dns.readCname(name, asker),
    dns.readA(name, asker),
    dns.readAaaa(name, asker),
  ])
  return { cname: some(cnames)[0]?.toLowerCase(), addresses: [...some(v4), ...some(v6)] }
}

/** For visitors, a failed query and an empty result are the same. */
function some(answer: DnsAnswer<string>): string[] {
  return answer ?? []
}

/** By CNAME, or because every address belongs to the edge: otherwise some visitors would reach another server. */
function pointingHere({ cname, addresses }: Records, edgeCname: string | undefined, expected: Set<string>) {
  if (edgeCname !== undefined && cname === edgeCname) return 'CNAME'
  const here = addresses.length > 0 && addresses.every((address) => expected.has(address))
  return here ? 'A' : null
}

/** If no edge is configured, a name that resolves is assumed to point to it. */
function resolving({ cname, addresses }: Records) {
  if (addresses.length === 0) return null
  return cname === undefined ? 'A' : 'CNAME'
}
