/** What each name server says of the record that proves a domain, for whoever waits for it to be seen. docs/domains.md. */
import type { Ctx } from '../../context.ts'
import { route } from '../../platform/http/route.ts'
import { challengeOf, countDnsLookup, matchRecords } from '../domain-verification/challenge.ts'
import { type DomainWithProject, findDomain } from './domains.ts'
import { DomainAnswers } from './schema.ts'

/** The route, among those of domains. */
export const answersRoute = route({
  method: 'GET',
  path: '/v1/projects/:idOrName/domains/:domain/answers',
  operationId: 'getProjectDomainAnswers',
  summary: 'Ask each name server for the TXT record that proves a domain',
  tag: 'domains',
  needs: ['project:read'],
  load: findDomain,
  run: showAnswers,
  list: { rows: 4, rowBytes: 1024 },
  refuses: ['not_found'],
  status: 200,
  reply: DomainAnswers,
})

/** Asks each name server by itself; none for a domain that is verified, which has no record to be found. Changes nothing. Refuses: rate_limited 429. */
async function showAnswers(ctx: Ctx, { domain }: DomainWithProject): Promise<DomainAnswers> {
  if (domain.verified_at !== null) return { nameServers: [] }
  await countDnsLookup(ctx, domain.name)
  const settings = ctx.deps.config.domains
  const { domain: at } = challengeOf(domain, settings)
  const answers = await ctx.deps.adapters.dns.readTxtOfEach(at, ctx.account.id)
  return { nameServers: answers.map((records) => matchRecords(domain, records, settings)) }
}
