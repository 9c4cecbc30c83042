/** Responses of each name server for a verification record, to show its propagation. docs/domains.md. */
import type { Ctx } from '../../context.ts'
import { route } from '../../platform/http/route.ts'
import { challengeOf, countDnsLookup, matchRecords } from '../domain-verification/challenge.ts'
import { type DomainWithProject, findDomain } from './domains.ts'
import { DomainAnswers } from './schema.ts'

export const answersRoute = route({
  method: 'GET',
  path: '/v1/projects/:idOrName/domains/:domain/answers',
  operationId: 'getProjectDomainAnswers',
  summary: 'Query each name server for the TXT record that verifies a domain',
  tag: 'domains',
  needs: ['project:read'],
  load: findDomain,
  run: showAnswers,
  list: { rows: 4, rowBytes: 1024 },
  refuses: ['not_found'],
  status: 200,
  reply: DomainAnswers,
})

/** Queries each name server separately; none for a verified domain. Changes nothing. Refuses: rate_limited 429. */
async function showAnswers(ctx: Ctx, { domain }: DomainWithProject): Promise<DomainAnswers> {
  if (domain.verified_at !== null) return { nameServers: [] }
  await countDnsLookup(ctx, domain.name)
  const settings = ctx.deps.config.domains
  const { domain: at } = challengeOf(domain, settings)
  const answers = await ctx.deps.adapters.dns.readTxtOfEach(at, ctx.account.id)
  return { nameServers: answers.map((records) => matchRecords(domain, records, settings)) }
}
