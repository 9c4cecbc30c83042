/** First start: one user, team and token, so that the printed credentials are enough for the first call. docs/spec/operator-api.md. */
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

/** `welcome`: path and query of the single-use setup page. */
type FirstCredentials = { userId: string; teamId: string; token: string; welcome: string }
/** The first credentials exist only in the data directory of the first start. */
export type StartCredentials = { operatorToken: string } & Partial<FirstCredentials>

/**
 * Returns the operator token: the setting, or that of `credentials.json`, or a new one. Fills an empty database with the first user, team and token.
 * Writes the file before the rows, so a start that is killed between the two continues with the same file.
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
    // Another instance was first, so these credentials are invalid.
    keep({})
    return { credentials: { operatorToken }, firstStart: false }
  }
  keep(rest)
  return { credentials: { operatorToken, ...rest }, firstStart: false }
}

const FIRST_USER = { kind: 'user', slug: 'admin', name: 'Admin', email: 'admin@berth.localhost' } as const
const FIRST_TEAM = { kind: 'team', slug: 'team', name: 'Team', email: null } as const

/** Fills an empty database once, also with concurrent instances. True when this call did it. */
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
    throw new Error(`${file} is not JSON; fix it, or move it away to create new credentials`, { cause: error })
  }
}

function writeWhenNew(file: string, credentials: Record<string, string | undefined>): void {
  const text = `${JSON.stringify(credentials, null, 2)}\n`
  if (existsSync(file) && readText(file) === text) return
  createDirectory(dirname(file))
  writeFileAtomically(file, text)
}
