/** A file of an output takes as long as it takes, while other bodies of runners end after 15 s. docs/building.md: Runner protocol. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { leasePath } from '../../../src/delivery/protocol/runner-protocol.ts'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines } from '../../support/world.ts'
import { BUILDS, createSource, openRunners } from './building.ts'

const PIECE = Buffer.alloc(16 * 1024, 'a')
/** Node.js looks every 30 s for requests that are older than the 15 s. */
const SECONDS = 50

/** Sends a body slowly: a piece each second. Returns the status; undefined where the connection was closed. */
async function sendSlowly(url: string, method: string, token: string, piece: Buffer | string) {
  const headers = { authorization: `Bearer ${token}`, 'content-length': piece.length * SECONDS }
  const asked = request(url, { method, headers })
  const status = new Promise<number | undefined>((resolve) => {
    asked.once('response', (response) => resolve(response.resume().statusCode))
    asked.once('error', () => resolve(undefined))
  })
  for (let second = 0; second < SECONDS && !asked.destroyed; second++) {
    asked.write(piece)
    // As slowly as a narrow line.
    await sleep(1000)
  }
  asked.end()
  return status
}

onBothEngines(
  'a file of an output can take longer than a request, and no other body can (a bound on time)',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    await createSource(world)
    const lease = await runners.take()
    const file = createHash('sha256')
    for (let second = 0; second < SECONDS; second++) file.update(PIECE)
    const at = (rest: string) => `${runners.origin}${leasePath(lease, rest)}`
    const [put, log] = await Promise.all([
      sendSlowly(at(`output/${file.digest('hex')}`), 'PUT', lease.token, PIECE),
      sendSlowly(at('log'), 'POST', lease.token, ' '),
    ])
    assert.equal(put, 200)
    assert.ok(log === 408 || log === undefined, String(log))
    await runners.close()
  },
  BUILDS,
)
