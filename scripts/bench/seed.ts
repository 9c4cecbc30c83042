/**
 * Fills a store by bulk statements, in the program's own schema: accounts with projects, each with variables, a deployment and
 * a verified domain that points to it. What no measured path reads (audit, events, history and keys of variables) is not made,
 * so that the values do not open.
 */
import { sql } from 'kysely'
import { fingerprint } from '../../src/platform/base/ids.ts'
import { chunks } from '../../src/platform/db/chunks.ts'
import type { Db, Queries } from '../../src/platform/db/db.ts'

/** Projects that one transaction makes. */
const SLICE = 20_000
/** Everything seeded is from before everything that a service makes: 2023. */
const FIRST_MOMENT = 1_700_000_000_000
export const FIRST_STAMP = FIRST_MOMENT * 1024
/** What the longest-lived part of a seal looks like: of a value of some 40 characters. */
const SEALED = `v1.dk_seeded.${'A'.repeat(92)}`

export type Wanted = {
  /** Accounts of users, and what each has. */
  accounts: number
  projectsEach: number
  /** Of each project. */
  variables: number
  /** One more account that has many projects. They lie among all others. */
  large?: { accountId: string; projects: number }
  /** Whether each project has a deployment, and a domain that points to it. */
  hosts: boolean
}

/** Seeds a store that has nothing seeded yet. What else is there stays. */
export async function seedStore(db: Db, wanted: Wanted, say: (line: string) => void = () => {}): Promise<void> {
  if (db.engine === 'sqlite') await db.write((tx) => sql`pragma cache_size = -262144`.execute(tx))
  await seedAccounts(db, wanted.accounts)
  const all = wanted.accounts * wanted.projectsEach + (wanted.large?.projects ?? 0)
  for (let first = 0; first < all; first += SLICE) {
    const end = Math.min(first + SLICE, all)
    await db.write((tx) => seedSlice(tx, db.engine, first, end, all, wanted))
    say(`seeded ${end} of ${all} projects`)
  }
  // As its autovacuum does it by and by.
  if (db.engine === 'postgres') await sql`vacuum (analyze)`.execute(db.read)
}

/** A seeded account and the token of its user. */
export const accountId = (account: number) => `usr_seeded${digits(account, 18)}`
export const tokenOf = (account: number) => `berth_${digits(account, 40)}`
/** Project number `n` of all, and its host. In a store without a large account, `n % accounts` is whose it is. */
export const projectName = (n: number) => `seeded-project-${digits(n, 8)}`
export const hostName = (n: number) => `${projectName(n)}.example.com`

function digits(n: number, length: number): string {
  return String(n).padStart(length, '0')
}

async function seedAccounts(db: Db, count: number): Promise<void> {
  const none = { name: null, default_team_id: null, add_ons_json: '[]', plan: 'pro', kind: 'user' } as const
  for (const numbers of chunks(Array.from({ length: count }, (_, n) => n))) {
    const accounts = numbers.map((n) => ({
      ...none,
      id: accountId(n),
      slug: `seeded-${n}`,
      email: `seeded-${n}@example.com`,
      created_stamp: FIRST_STAMP + n,
    }))
    const tokens = numbers.map((n) => ({
      id: `tok_seeded${n}`,
      hash: fingerprint(tokenOf(n)),
      user_id: accountId(n),
      created_stamp: FIRST_STAMP + n,
    }))
    await db.write(async (tx) => {
      await tx.insertInto('account').values(accounts).execute()
      await tx.insertInto('token').values(tokens).execute()
    })
  }
}

/** What both engines say in their own words: random hex digits, and a number with zeros in front. */
const WORDS = {
  sqlite: {
    random: 'lower(hex(randomblob(14)))',
    padded: (n: string, length: number) => `printf('%0${length}d', ${n})`,
  },
  postgres: {
    random: "substr(replace(gen_random_uuid()::text, '-', ''), 1, 28)",
    padded: (n: string, length: number) => `lpad((${n})::text, ${length}, '0')`,
  },
}

/** Projects `first` up to `end`, with all that is theirs. */
async function seedSlice(
  tx: Queries,
  engine: Db['engine'],
  first: number,
  end: number,
  all: number,
  { accounts, variables, large, hosts }: Wanted,
): Promise<void> {
  const { random, padded } = WORDS[engine]
  const run = (text: string) => sql.raw(text).execute(tx)
  const usual = `'usr_seeded' || ${padded(`n % ${Math.max(accounts, 1)}`, 18)}`
  // The large account has number n where the count of what it has steps on.
  const upTo = (n: string) => `(${n} * ${large?.projects} / ${all})`
  const owner = large
    ? `case when ${upTo('(n + 1)')} > ${upTo('n')} then '${large.accountId}' else ${usual} end`
    : usual
  await run(`create temporary table seeding as
    with recursive number(n) as (select cast(${first} as bigint) union all select n + 1 from number where n < ${end - 1})
    select 'prj_' || ${random} as id, ${owner} as account_id, 'seeded-project-' || ${padded('n', 8)} as name,
      'dpl_seeded' || ${padded('n', 18)} as deployment_id, ${FIRST_STAMP} + n as stamp
    from number order by id`)
  await run(`insert into project (id, account_id, name, git_fork_protection, settings_json, live_deployment_id, created_at, updated_stamp)
    select id, account_id, name, 1, '{"framework":"nextjs","buildCommand":"npm run build","autoAssignCustomDomains":true}',
      ${hosts ? 'deployment_id' : 'null'}, ${FIRST_MOMENT}, stamp from seeding order by stamp`)
  if (variables > 0) await seedVariables(run, random, variables)
  if (hosts) await seedHosts(run)
  await run('drop table seeding')
}

type Run = (text: string) => Promise<unknown>

async function seedVariables(run: Run, random: string, count: number): Promise<void> {
  await run(`create temporary table seeding_variable as
    with recursive number(v) as (select 1 union all select v + 1 from number where v < ${count})
    select id as project_id, 'env_' || ${random} as id, 'VARIABLE_' || v as key, stamp + v as stamp from seeding cross join number`)
  await run(`insert into env_var (project_id, id, key, type, targets, git_branch, sealed_value, value_version, value_bytes, version,
      created_by, created_stamp, updated_at)
    select project_id, id, key, 'encrypted', 'production', '', '${SEALED}', 1, 40, 1, 'usr_seeded', stamp, ${FIRST_MOMENT}
    from seeding_variable`)
  await run(`insert into env_target (project_id, key, target, git_branch, env_id)
    select project_id, key, 'production', '', id from seeding_variable`)
  await run(`insert into env_usage (project_id, target, variables, bytes)
    select id, 'production', ${count}, ${count * 40} from seeding`)
  await run('drop table seeding_variable')
}

async function seedHosts(run: Run): Promise<void> {
  await run(`insert into deployment (id, account_id, project_id, created_stamp, url, name, target, ready_state, meta_json, upstream, plan)
    select deployment_id, account_id, id, stamp, name || '.apps.example.net', name, 'production', 'READY', '{}',
      'http://10.0.0.1:3000', 'pro' from seeding order by stamp`)
  await run(`insert into project_domain (account_id, name, project_id, apex_name, challenge_token, verified_at, created_stamp, updated_at)
    select account_id, name || '.example.com', id, 'example.com', 'x', 1, stamp, 1 from seeding order by stamp`)
  await run(`insert into alias (name, account_id, project_id, deployment_id, target, created_stamp, updated_at)
    select name || '.example.com', account_id, id, deployment_id, 'production', stamp, 1 from seeding order by stamp`)
  // In an old database, every edge has read the changes.
  await run('delete from edge_change')
}
