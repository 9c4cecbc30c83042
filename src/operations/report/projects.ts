import { STAMPS_PER_MS, stampToMs } from '../../platform/base/clock.ts'
import { giveOwner, hasOwner } from './accounts.ts'
import type { ReportPart } from './table-scan.ts'

const DAY_MS = 86_400_000
const PENDING_MS = 7 * DAY_MS
const PAUSED_MS = 90 * DAY_MS

/** Project domains that were never verified, or were lost. */
export const PROJECT_DOMAINS: ReportPart = {
  kinds: ['domains-pending'],
  table: 'project_domain',
  by: 'name',
  first: '',
  async find({ db, now }, tally, within) {
    const rows = await db
      .selectFrom('project_domain')
      .select((eb) => [
        'project_domain.name',
        'project_domain.created_stamp',
        eb.selectFrom('account').select('slug').whereRef('account.id', '=', 'project_domain.account_id').as('slug'),
        eb.selectFrom('project').select('name').whereRef('project.id', '=', 'project_domain.project_id').as('project'),
      ])
      .where(within)
      .where('project_domain.verified_at', 'is', null)
      .where('project_domain.created_stamp', '<', (now - PENDING_MS) * STAMPS_PER_MS)
      .execute()
    for (const { name, created_stamp, slug, project } of rows) {
      const advice = `${slug} verifies or removes it at /console/t/${slug}/projects/${project}/domains/${name}`
      tally.add('domains-pending', { id: null, what: name, where: slug, since: stampToMs(created_stamp), advice })
    }
  },
}

/** Account domains that were never verified. */
export const ACCOUNT_DOMAINS: ReportPart = {
  kinds: ['domains-pending'],
  table: 'account_domain',
  by: 'account_id',
  first: '',
  async find({ db, now }, tally, within) {
    const rows = await db
      .selectFrom('account_domain')
      .select((eb) => [
        'account_domain.name',
        'account_domain.created_stamp',
        eb.selectFrom('account').select('slug').whereRef('account.id', '=', 'account_domain.account_id').as('slug'),
      ])
      .where(within)
      .where('account_domain.proven_at', 'is', null)
      .where('account_domain.created_stamp', '<', (now - PENDING_MS) * STAMPS_PER_MS)
      .execute()
    for (const { name, created_stamp, slug } of rows) {
      const advice = `${slug} verifies or removes the apex (docs/domains.md: Account domains)`
      tally.add('domains-pending', { id: null, what: name, where: slug, since: stampToMs(created_stamp), advice })
    }
  },
}

/** Projects that were paused long ago: forgotten, or an outage without a known cause. */
export const PAUSED: ReportPart = {
  kinds: ['projects-paused'],
  table: 'project',
  by: 'id',
  first: '',
  async find({ db, now }, tally, within) {
    const rows = await db
      .selectFrom('project')
      .select((eb) => [
        'project.id',
        'project.name',
        'project.paused_at',
        eb.selectFrom('account').select('slug').whereRef('account.id', '=', 'project.account_id').as('slug'),
      ])
      .where(within)
      .where('project.paused_at', '<', now - PAUSED_MS)
      .execute()
    for (const { id, name, paused_at, slug } of rows) {
      const advice = `${slug} unpauses it or removes it at /console/t/${slug}/projects/${name}`
      tally.add('projects-paused', { id, what: name, where: slug, since: paused_at, advice })
    }
  },
}

/** TABLE Endpoint kinds: table, display name and console section. */
const KINDS_OF_ENDPOINTS = [
  { table: 'webhook', noun: 'webhook', section: 'webhooks' },
  { table: 'log_drain', noun: 'log drain', section: 'drains' },
] as const

/** Endpoints that keep failing. Their URL may contain a secret, so only the host is reported. */
export const ENDPOINTS = KINDS_OF_ENDPOINTS.map(
  ({ table, noun, section }): ReportPart => ({
    kinds: ['endpoints-failing'],
    table,
    by: 'id',
    first: '',
    async find({ db }, tally, within) {
      const rows = await db
        .selectFrom(table)
        .select((eb) => [
          'id',
          'url',
          'failing_since',
          'disabled_at',
          'disabled_reason',
          'held_at',
          eb.selectFrom('account').select('slug').whereRef('account.id', '=', `${table}.account_id`).as('slug'),
        ])
        .where(within)
        .where((eb) =>
          eb.or([
            eb('failing_since', 'is not', null),
            eb('disabled_at', 'is not', null),
            eb('held_at', 'is not', null),
          ]),
        )
        // Disabled on purpose by its owner.
        .where((eb) => eb.or([eb('disabled_reason', 'is', null), eb('disabled_reason', '!=', 'owner')]))
        .execute()
      for (const { id, url, slug, ...at } of rows) {
        const state = at.held_at ? 'is held' : at.disabled_at ? `is disabled (${at.disabled_reason})` : 'fails'
        const since = at.failing_since ?? at.disabled_at ?? at.held_at
        const advice = `${slug} checks /console/t/${slug}/${section}/${id}`
        tally.add('endpoints-failing', {
          id,
          what: `${noun} to ${new URL(url).host} ${state}`,
          where: slug,
          since,
          advice,
        })
      }
    },
  }),
)

/** Installations without an active owner: theirs left, or was suspended by the operator. */
export const INSTALLATIONS: ReportPart = {
  kinds: ['installations-disabled'],
  table: 'configuration',
  by: 'disabled_at',
  first: 0,
  async find({ db }, tally, within) {
    const rows = await db
      .selectFrom('configuration')
      .select((eb) => [
        'configuration.id',
        'configuration.disabled_at',
        'configuration.disabled_reason',
        'configuration.deleted_at',
        hasOwner('configuration.account_id').as('has_owner'),
        eb.selectFrom('account').select('slug').whereRef('account.id', '=', 'configuration.account_id').as('account'),
        eb
          .selectFrom('integration')
          .select('slug')
          .whereRef('integration.id', '=', 'configuration.integration_id')
          .as('slug'),
      ])
      .where(within)
      .execute()
    // As a condition of the statement, PostgreSQL would scan an index of all that are not deleted.
    for (const { id, disabled_at, disabled_reason, account, slug, has_owner } of rows.filter(
      (row) => row.deleted_at === null,
    )) {
      const advice =
        disabled_reason === 'disabled-by-admin'
          ? 'its owner is suspended: berth user resume, or it is removed with them'
          : has_owner
            ? `an OWNER of ${account} can take ownership of it at /integrations/installed; after 30 days it is removed`
            : `${account} has no OWNER who can become its owner: ${giveOwner(account ?? 'TEAM')}; after 30 days it is removed`
      tally.add('installations-disabled', { id, what: slug ?? id, where: account, since: disabled_at, advice })
    }
  },
}
