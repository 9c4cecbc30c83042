/** What the tests of transfers share: a giver with a project `web`, a receiver, and a way to let the sweep run. */
import assert from 'node:assert/strict'
import type { Call, World } from '../world.ts'

export type TransferAccounts = {
  projectId: string
  giver: { id: string; call: Call }
  taker: { id: string; call: Call }
  /** A fresh code for `web`. */
  offer(): Promise<string>
  take(code: string, body?: object): ReturnType<Call>
  /** Lets the sweep run, as the timer would. */
  sweep(): Promise<number>
}

/** The first user is the giver; a second user with a personal account is the taker. */
export async function seedTransferAccounts(world: World): Promise<TransferAccounts> {
  const made = await world.call('POST', '/v10/projects', { name: 'web' })
  assert.equal(made.status, 200, made.text)
  const taker = await world.user('taker')
  return {
    projectId: made.body.id,
    giver: { id: world.credentials.userId, call: world.call },
    taker,
    async offer() {
      const answer = await world.call('POST', '/projects/web/transfer-request', {})
      assert.equal(answer.status, 200, answer.text)
      assert.equal(answer.headers['cache-control'], 'no-store')
      return answer.body.code
    },
    take: (code, body = {}) => taker.call.try('PUT', `/projects/transfer-request/${code}`, body),
    async sweep() {
      const ran = await world.operator('POST', '/operator/v1/timers/project-transfers/run', {})
      assert.equal(ran.status, 200, ran.text)
      return ran.body.swept
    },
  }
}

/** The events of transfers (or others), as `type owner`, in order, with their payloads. */
export async function readEvents({ deps }: World, pattern: RegExp) {
  const rows = await deps.db.read.selectFrom('event').selectAll().orderBy('stamp').execute()
  return rows
    .filter((row) => pattern.test(row.type))
    .map((row) => ({
      type: row.type,
      to: row.account_id,
      about: row.configuration_id,
      payload: JSON.parse(row.payload_json),
    }))
}
