/** A socket of the data cache, as a process of a function asks it. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type AnswerFrame, createDataPace, createDataServing } from '../../../src/sites/data-cache/serve.ts'
import { createRenderBudget } from '../../../src/sites/prerender/render-budget.ts'

export const OWNER = { account: 'team_1', deploymentId: 'd1', projectId: 'p1', environment: 'production' }
export const MIB = 1024 ** 2

/** Serves these answers. `dial`: connects and sends. `served`: the other ends. */
export async function serve(t: TestContext, answer: AnswerFrame, pace = createDataPace()) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-left-'))
  const budget = createRenderBudget(64 * MIB, 16 * MIB)
  const take = createDataServing(answer, budget, pace)
  const served: Socket[] = []
  const server = createServer((socket) => {
    served.push(socket)
    take(socket, OWNER)
  }).listen(join(folder, 's'))
  await once(server, 'listening')
  const sockets = new Set<Socket>()
  t.after(() => {
    for (const socket of [...sockets, ...served]) socket.destroy()
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const dial = async (bytes: Buffer[]) => {
    const socket = connect(join(folder, 's')).on('error', () => {})
    sockets.add(socket)
    await once(socket, 'connect')
    await new Promise((resolve) => socket.write(Buffer.concat(bytes), resolve))
    return socket
  }
  return { dial, budget, served }
}
