/** Whether a domain points here: what visitors' resolvers see, against where the operator says the edge is. docs/spec/wire.md 6. */

import type { Ctx, Input } from '../../context.ts'
import { canonicalName } from '../../model/domain-name.ts'
import type { DnsAnswer } from '../../platform/adapters/dns.ts'
import { countDnsLookup } from '../domain-verification/challenge.ts'
import type { DomainConfig } from './schema.ts'

/**
 * Says how DNS is set for a name, by looking. A name that does not resolve, or that partly leads elsewhere, is misconfigured;
 * so is one whose servers do not answer, because nobody gets a certificate for it. Refuses: invalid_domain 400, rate_limited 429.
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

/** What clients read without asking whether it is there. docs/domains.md: Whether a domain points here. */
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

/** No answer and nothing found lead a visitor to the same place: none. */
function some(answer: DnsAnswer<string>): string[] {
  return answer ?? []
}

/** By its CNAME, or because every address is one of the edge's: one that is not would take some visitors elsewhere. */
function pointingHere({ cname, addresses }: Records, edgeCname: string | undefined, expected: Set<string>) {
  if (edgeCname !== undefined && cname === edgeCname) return 'CNAME'
  const here = addresses.length > 0 && addresses.every((address) => expected.has(address))
  return here ? 'A' : null
}

/** Where the edge is not known, a name that resolves is taken to be meant for it. */
function resolving({ cname, addresses }: Records) {
  if (addresses.length === 0) return null
  return cname === undefined ? 'A' : 'CNAME'
}
