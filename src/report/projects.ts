/** What the report tells of projects, domains, and what is sent for them. */
import { momentOf, STAMPS_PER_MS } from '../clock.ts'
import type { OperatorCtx } from '../context.ts'
import type { Tally } from './tally.ts'
import { walk } from './walk.ts'

const DAY_MS = 86_400_000
const PENDING_MS = 7 * DAY_MS
const PAUSED_MS = 90 * DAY_MS

/** Domains of projects, and those of whole accounts, that were added and never proven, or were lost. */
export async function findDomains({ db, now }: OperatorCtx, tally: Tally): Promise<void> {
  const before = (now - PENDING_MS) * STAMPS_PER_MS
  const ofProjects = await walk(db, { table: 'project_domain', by: 'name', first: '' }, async (within) => {
    const rows = await db
      .selectFrom('project_domain')
      .select((eb) => [
        'project_domain.name',
        'project_domain.created_stamp',
        eb.selectFrom('account').select('slug').whereRef('account.id', '=', 'project_domain.account_id').as('slug'),
        eb.selectFrom('project').select('name').whereRef('project.id', '=', 'project_domain.project_id').as('project'),
      ])
      .where(within('project_domain.name'))
      .where('project_domain.verified_at', 'is', null)
      .where('project_domain.created_stamp', '<', before)
      .execute()
    for (const { name, created_stamp, slug, project } of rows) {
      const advice = `${slug} proves or removes it at /console/t/${slug}/projects/${project}/domains/${name}`
      tally.add('domains-pending', { id: null, what: name, where: slug, since: momentOf(created_stamp), advice })
    }
  })
  const ofAccounts = await walk(db, { table: 'account_domain', by: 'account_id', first: '' }, async (within) => {
    const rows = await db
      .selectFrom('account_domain')
      .select((eb) => [
        'account_domain.name',
        'account_domain.created_stamp',
        eb.selectFrom('account').select('slug').whereRef('account.id', '=', 'account_domain.account_id').as('slug'),
      ])
      .where(within('account_domain.account_id'))
      .where('account_domain.proven_at', 'is', null)
      .where('account_domain.created_stamp', '<', before)
      .execute()
    for (const { name, created_stamp, slug } of rows) {
      const advice = `${slug} proves or removes the apex (docs/domains.md: Domains of the account)`
      tally.add('domains-pending', { id: null, what: name, where: slug, since: momentOf(created_stamp), advice })
    }
  })
  if (ofProjects || ofAccounts) tally.isPartial('domains-pending')
}

/** Projects that were paused long ago: nobody misses them, or nobody knows why their visitors get nothing. */
export async function findPaused({ db, now }: OperatorCtx, tally: Tally): Promise<void> {
  const partial = await walk(db, { table: 'project', by: 'id', first: '' }, async (within) => {
    const rows = await db
      .selectFrom('project')
      .select((eb) => [
        'project.id',
        'project.name',
        'project.paused_at',
        eb.selectFrom('account').select('slug').whereRef('account.id', '=', 'project.account_id').as('slug'),
      ])
      .where(within('project.id'))
      .where('project.paused_at', '<', now - PAUSED_MS)
      .execute()
    for (const { id, name, paused_at, slug } of rows) {
      const advice = `${slug} unpauses it or removes it at /console/t/${slug}/projects/${name}`
      tally.add('projects-paused', { id, what: name, where: slug, since: paused_at, advice })
    }
  })
  if (partial) tally.isPartial('projects-paused')
}

/** TABLE the kinds of endpoints: their table, what people call one, and the section of the console that shows it. */
const ENDPOINTS = [
  { table: 'webhook', noun: 'webhook', section: 'webhooks' },
  { table: 'log_drain', noun: 'log drain', section: 'drains' },
] as const

/** Endpoints to which nothing arrives. Their address may hold a secret, so only its host is told. */
export async function findEndpoints({ db }: OperatorCtx, tally: Tally): Promise<void> {
  for (const { table, noun, section } of ENDPOINTS) {
    const partial = await walk(db, { table, by: 'id', first: '' }, async (within) => {
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
        .where(within(`${table}.id`))
        .where((eb) =>
          eb.or([
            eb('failing_since', 'is not', null),
            eb('disabled_at', 'is not', null),
            eb('held_at', 'is not', null),
          ]),
        )
        // Somebody switched it off on purpose.
        .where((eb) => eb.or([eb('disabled_reason', 'is', null), eb('disabled_reason', '!=', 'owner')]))
        .execute()
      for (const { id, url, slug, ...at } of rows) {
        const state = at.held_at ? 'is held' : at.disabled_at ? `is disabled (${at.disabled_reason})` : 'fails'
        const since = at.failing_since ?? at.disabled_at ?? at.held_at
        const advice = `${slug} looks at /console/t/${slug}/${section}/${id}`
        tally.add('endpoints-failing', {
          id,
          what: `${noun} to ${new URL(url).host} ${state}`,
          where: slug,
          since,
          advice,
        })
      }
    })
    if (partial) tally.isPartial('endpoints-failing')
  }
}

/** Installations that nobody has taken over since their owner left, or that the operator shut with their owner. */
export async function findInstallations({ db }: OperatorCtx, tally: Tally): Promise<void> {
  const partial = await walk(db, { table: 'configuration', by: 'disabled_at', first: 0 }, async (within) => {
    const rows = await db
      .selectFrom('configuration')
      .select((eb) => [
        'configuration.id',
        'configuration.disabled_at',
        'configuration.disabled_reason',
        'configuration.deleted_at',
        eb.selectFrom('account').select('slug').whereRef('account.id', '=', 'configuration.account_id').as('account'),
        eb
          .selectFrom('integration')
          .select('slug')
          .whereRef('integration.id', '=', 'configuration.integration_id')
          .as('slug'),
      ])
      .where(within('configuration.disabled_at'))
      .execute()
    // Asked for in the statement, PostgreSQL would walk through an index of all that are not deleted.
    for (const { id, disabled_at, disabled_reason, account, slug } of rows.filter((row) => row.deleted_at === null)) {
      const advice =
        disabled_reason === 'disabled-by-admin'
          ? 'its owner is suspended: berth user resume, or it is removed with them'
          : `an OWNER of ${account} takes it over at /integrations/installed; after 30 days it is removed`
      tally.add('installations-disabled', { id, what: slug ?? id, where: account, since: disabled_at, advice })
    }
  })
  if (partial) tally.isPartial('installations-disabled')
}
