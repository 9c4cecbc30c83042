/** First start: one user, one team, one token, so that the first call needs nothing but what was printed. docs/spec/operator-api.md. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { newWelcomeLink, welcomeLinkRow } from '../../accounts/sign-in/welcome-link.ts'
import { tokenRow } from '../../accounts/tokens/tokens.ts'
import type { Config } from '../../config.ts'
import { writeFileAtomically } from '../../platform/adapters/atomic-file.ts'
import { createDirectory } from '../../platform/adapters/directory.ts'
import { readText } from '../../platform/adapters/file-errors.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { newId, newToken } from '../../platform/base/ids.ts'
import type { Db } from '../../platform/db/db.ts'

/** `welcome`: path and query of the page on which the first person sets their first password. It works once. */
type FirstCredentials = { userId: string; teamId: string; token: string; welcome: string }
/** The first ones are there when this data folder was there on the first start of the store. */
export type StartCredentials = { operatorToken: string } & Partial<FirstCredentials>

/**
 * The operator token: the setting, else what `credentials.json` says, else a new one written there; and, on an empty store,
 * the first user, team and token. The file is written before the rows that it opens: killed between the two, the next start
 * finds an empty store and uses the same file.
 */
export async function openCredentials(db: Db, clock: Clock, config: Config) {
  const file = join(config.dataDirectory, 'credentials.json')
  const { operatorToken: keptToken, ...rest } = readJson(file)
  const operatorToken = config.operatorToken ?? keptToken ?? newToken()
  const keep = (first: Partial<FirstCredentials>) =>
    writeWhenNew(file, { operatorToken: config.operatorToken === undefined ? operatorToken : keptToken, ...first })

  const fact = await db.read.selectFrom('fact').select('name').where('name', '=', 'bootstrapped').executeTakeFirst()
  if (fact === undefined) {
    const first = { userId: newId('usr'), teamId: newId('team'), token: newToken(), welcome: newWelcomeLink(), ...rest }
    keep(first)
    if (await bootstrap(db, clock, config, first)) return { credentials: { operatorToken, ...first }, firstStart: true }
    // Another instance was first: what this one wrote down opens nothing.
    keep({})
    return { credentials: { operatorToken }, firstStart: false }
  }
  keep(rest)
  return { credentials: { operatorToken, ...rest }, firstStart: false }
}

const FIRST_USER = { kind: 'user', slug: 'admin', name: 'Admin', email: 'admin@berth.localhost' } as const
const FIRST_TEAM = { kind: 'team', slug: 'team', name: 'Team', email: null } as const

/** Fills an empty store, once, also when two instances start at the same moment. True when this call did it. */
async function bootstrap(
  db: Db,
  clock: Clock,
  { defaultPlan }: Config,
  { userId, teamId, token, welcome }: FirstCredentials,
): Promise<boolean> {
  return db.write(async (tx) => {
    const first = await tx
      .insertInto('fact')
      .values({ name: 'bootstrapped', value: String(clock.now()) })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .returning('name')
      .executeTakeFirst()
    if (first === undefined) return false
    const account = { plan: defaultPlan, add_ons_json: '[]' }
    const user = { ...account, ...FIRST_USER, id: userId, operator_at: clock.now(), default_team_id: teamId }
    const team = { ...account, ...FIRST_TEAM, id: teamId, operator_at: null, default_team_id: null }
    await tx
      .insertInto('account')
      .values([
        { ...user, created_stamp: clock.stamp() },
        { ...team, created_stamp: clock.stamp() },
      ])
      .execute()
    await tx
      .insertInto('member')
      .values({ team_id: teamId, user_id: userId, role: 'OWNER', created_stamp: clock.stamp() })
      .execute()
    await tx
      .insertInto('token')
      .values(tokenRow(clock.stamp(), { userId, name: 'first token' }, token))
      .execute()
    await tx.insertInto('password_link').values(welcomeLinkRow(userId, welcome)).execute()
    return true
  })
}

function readJson(file: string): Partial<StartCredentials> {
  let text: string
  try {
    text = readText(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`${file} is not JSON; mend it, or move it away to have new credentials made`, { cause: error })
  }
}

function writeWhenNew(file: string, credentials: Record<string, string | undefined>): void {
  const text = `${JSON.stringify(credentials, null, 2)}\n`
  if (existsSync(file) && readText(file) === text) return
  createDirectory(dirname(file))
  writeFileAtomically(file, text)
}
