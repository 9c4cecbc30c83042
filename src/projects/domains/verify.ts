/** Domain verification. Specification: operation 15; States and transitions, Project domain verification. */

import type { Ctx } from '../../context.ts'
import type { DnsAnswer as Records } from '../../platform/adapters/dns.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { challengeOf, countDnsLookup } from '../domain-verification/challenge.ts'
import { restartChecks } from '../domain-verification/check-schedule.ts'
import { verifyClaim } from '../domain-verification/claim.ts'
import type { DomainWithProject } from './domains.ts'
import { type ProjectDomain, showDomain } from './schema.ts'

const NOT_ASKED = 'not asked'

/** Returns the TXT records of the challenge, and starts the automatic checks again. Skips DNS for a verified domain. Refuses: rate_limited 429. */
export async function readChallenge(
  ctx: Ctx,
  { domain }: DomainWithProject,
): Promise<Records<string> | typeof NOT_ASKED> {
  if (domain.verified_at !== null) return NOT_ASKED
  await countDnsLookup(ctx, domain.name)
  await restartChecks(ctx, domain)
  return ctx.deps.adapters.dns.readTxt(challengeOf(domain, ctx.deps.config.domains).domain, ctx.account.id)
}

/**
 * Verifies a domain by its record; a verified one stays so. Compares with the current challenge, which may have changed since the
 * DNS query. Refuses: what `verifyClaim` does, busy 503 (it lost its name, and DNS was not queried).
 */
export async function verifyDomain(
  ctx: Ctx,
  { project, domain }: DomainWithProject,
  _: unknown,
  records: Records<string> | typeof NOT_ASKED,
): Promise<ProjectDomain> {
  const settings = ctx.deps.config.domains
  if (domain.verified_at !== null) return showDomain(domain, settings)
  // It was just unverified and DNS was not queried, so there is no result to report.
  if (records === NOT_ASKED) refuse('busy')
  return showDomain(await verifyClaim(ctx, ctx.account, { project, domain }, records), settings)
}
