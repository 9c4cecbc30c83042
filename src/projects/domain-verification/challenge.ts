/** The challenge of a claim: a TXT record that requires control of the apex. docs/spec/decisions.md: Domains, Challenge and Verify. */
import { hash, timingSafeEqual } from 'node:crypto'
import type { DomainSettings } from '../../config.ts'
import type { Account, Ctx, OperatorCtx } from '../../context.ts'
import type { DnsAnswer } from '../../platform/adapters/dns.ts'
import type { Row } from '../../platform/db/schema.ts'
import { rejectIfExceeded } from '../../platform/limiter/limiter.ts'
import { refuse } from '../../platform/refusals/refusal.ts'

export type Challenge = { type: 'TXT'; domain: string; value: string; reason: 'pending_domain_verification' }

export type Claim = Pick<Row<'project_domain'>, 'name' | 'apex_name' | 'challenge_token'>

const MAX_SHOWN = 100
const TOKEN = /^[0-9a-f]{20}$/

/** Returns the record that verifies only this claim: its value contains the domain and the claim's token. */
export function challengeOf(domain: Claim, settings: DomainSettings): Challenge {
  return {
    type: 'TXT',
    domain: `${settings.challengeLabel}.${domain.apex_name}`,
    value: `${settings.challengePrefix}=${domain.name},${domain.challenge_token}`,
    reason: 'pending_domain_verification',
  }
}

/**
 * Returns if one of the records equals the challenge byte for byte. Ignores records for other names of the apex. Refuses:
 * dns_unavailable 503, txt_verifies_another_project 400, txt_record_mismatch 400, missing_txt_record 400.
 */
export async function mustMatchChallenge(
  ctx: Pick<OperatorCtx, 'db' | 'deps'>,
  domain: Claim,
  records: DnsAnswer<string>,
): Promise<void> {
  const settings = ctx.deps.config.domains
  const challenge = challengeOf(domain, settings)
  const { state, about } = matchChallenge(domain, records, settings)
  if (state === 'found') return
  if (state === 'no-answer')
    refuse('dns_unavailable', `The name servers did not answer for ${challenge.domain}; nothing was changed.`)

  const payload = { domain: domain.name, challenge }
  if (state === 'missing')
    refuse('missing_txt_record', `${challenge.domain} has no TXT record "${challenge.value}".`, payload)
  const begin = `${settings.challengePrefix}=${domain.name},`
  const tokens = about.filter((record) => record.startsWith(begin)).map((record) => record.slice(begin.length))
  if (await belongsToOtherClaim(ctx, domain, tokens)) {
    const add = `Add the record "${challenge.value}" next to it`
    const message = `The TXT record at ${challenge.domain} verifies ${domain.name} for another project. ${add}.`
    refuse('txt_verifies_another_project', message, payload)
  }
  const message = `The TXT record at ${challenge.domain} is ${quoteRecords(about)}; it should be "${challenge.value}".`
  refuse('txt_record_mismatch', message, payload)
}

/** Compares the records of one name server with a claim. `seen`: records at the challenge's name, quoted like in an error. */
export function matchRecords(domain: Claim, records: DnsAnswer<string>, settings: DomainSettings) {
  const { state, about } = matchChallenge(domain, records, settings)
  return { state, seen: state === 'other' ? quoteRecords(about) : null }
}

type Judged = { state: 'no-answer' | 'found' | 'missing' | 'other'; about: string[] }

/** Returns whether the record of a claim is present. `about`: records at its name, except those for other names of the apex. */
function matchChallenge(domain: Claim, records: DnsAnswer<string>, settings: DomainSettings): Judged {
  if (records === undefined) return { state: 'no-answer', about: [] }
  const { value } = challengeOf(domain, settings)
  if (records.some((record) => isSame(record, value))) return { state: 'found', about: [] }
  const about = records.filter((record) => !isForAnotherName(record, domain.name, settings))
  return { state: about.length === 0 ? 'missing' : 'other', about }
}

/** Compares in constant time, for any lengths. */
function isSame(record: string, value: string): boolean {
  return timingSafeEqual(hash('sha256', record, 'buffer'), hash('sha256', value, 'buffer'))
}

/** All names of an apex share one record name, so a record that clearly belongs to another name is ignored. */
function isForAnotherName(record: string, name: string, settings: DomainSettings): boolean {
  const [, named] = /^([^,]*),[0-9a-f]{20}$/.exec(record.slice(settings.challengePrefix.length + 1)) ?? []
  return record.startsWith(`${settings.challengePrefix}=`) && named !== undefined && named !== name
}

/** Returns whether a token belongs to another claim on the same name. The claim's own token would have matched. */
async function belongsToOtherClaim(
  { db }: Pick<OperatorCtx, 'db'>,
  domain: Claim,
  records: string[],
): Promise<boolean> {
  const tokens = records.filter((token) => TOKEN.test(token))
  if (tokens.length === 0) return false
  for (const table of ['project_domain', 'account_domain'] as const) {
    const conflict = await db
      .selectFrom(table)
      .select('name')
      .where('name', '=', domain.name)
      .where('challenge_token', 'in', tokens)
      .executeTakeFirst()
    if (conflict !== undefined) return true
  }
  return false
}

function quoteRecords(records: string[]): string {
  const [first = '', ...rest] = records
  const start = first.length > MAX_SHOWN ? `${first.slice(0, MAX_SHOWN)}…` : first
  return `"${start}"${rest.length > 0 ? ` (and ${rest.length} more)` : ''}`
}

/** Limits queries to name servers, per domain and per account. Refuses: rate_limited 429. */
export async function countDnsLookup(
  { account, now, deps }: Pick<Ctx, 'now' | 'deps'> & { account: Pick<Account, 'id'> },
  name: string,
): Promise<void> {
  rejectIfExceeded(await deps.limits.consume('account-lookup', account.id, now), now, 'lookups')
  rejectIfExceeded(
    await deps.limits.consume('domain-lookup', `${account.id} ${name}`, now),
    now,
    'lookups of this domain',
  )
}
