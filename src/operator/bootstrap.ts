/** First start: one user, one team, one token, so that the first call needs nothing but what was printed. operator-api.md. */
import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { tokenRow } from '../accounts/tokens.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'
import { newId, newToken } from '../ids.ts'

export type StartCredentials = { operatorToken: string; userId: string; teamId: string; token: string }

/**
 * The operator token: the setting, else what `credentials.json` says, else a new one written there. The file is written
 * before the rows that it opens: killed between the two, the next start finds an empty store and uses the same file.
 */
export function readCredentials(config: Config): StartCredentials {
  const file = join(config.dataFolder, 'credentials.json')
  const kept = readJson(file)
  const credentials = {
    operatorToken: config.operatorToken ?? kept.operatorToken ?? newToken(),
    userId: kept.userId ?? newId('usr'),
    teamId: kept.teamId ?? newId('team'),
    token: kept.token ?? newToken(),
  }
  const wanted =
    config.operatorToken === undefined ? credentials : { ...credentials, operatorToken: kept.operatorToken }
  if (JSON.stringify(wanted) !== JSON.stringify(kept)) writeDurably(file, `${JSON.stringify(wanted, null, 2)}\n`)
  return credentials
}

/** Fills an empty store, once, also when two instances start at the same moment. True when this call did it. */
export async function bootstrap(db: Db, clock: Clock, credentials: StartCredentials): Promise<boolean> {
  const known = await db.read.selectFrom('fact').select('name').where('name', '=', 'bootstrapped').executeTakeFirst()
  if (known !== undefined) return false
  return db.write(async (tx) => {
    const first = await tx
      .insertInto('fact')
      .values({ name: 'bootstrapped', value: String(clock.now()) })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .returning('name')
      .executeTakeFirst()
    if (first === undefined) return false
    const { userId, teamId, token } = credentials
    const account = { plan: 'pro', add_ons_json: '[]' } as const
    const user = {
      ...account,
      id: userId,
      kind: 'user',
      slug: 'admin',
      name: 'Admin',
      email: 'admin@berth.localhost',
    } as const
    const team = {
      ...account,
      id: teamId,
      kind: 'team',
      slug: 'team',
      name: 'Team',
      email: null,
      default_team_id: null,
    } as const
    await tx
      .insertInto('account')
      .values([
        { ...user, default_team_id: teamId, created_stamp: clock.stamp() },
        { ...team, created_stamp: clock.stamp() },
      ])
      .execute()
    await tx
      .insertInto('member')
      .values({ team_id: teamId, user_id: userId, role: 'OWNER', created_at: clock.now() })
      .execute()
    await tx
      .insertInto('token')
      .values(tokenRow(clock.stamp(), { userId, name: 'first token' }, token))
      .execute()
    return true
  })
}

function readJson(file: string): Partial<StartCredentials> {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
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

function writeDurably(file: string, text: string): void {
  mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 })
  const fresh = `${file}.new`
  const handle = openSync(fresh, 'w', 0o600)
  chmodSync(fresh, 0o600)
  writeSync(handle, text)
  fsyncSync(handle)
  closeSync(handle)
  renameSync(fresh, file)
}
