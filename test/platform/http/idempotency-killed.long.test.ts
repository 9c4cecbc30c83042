/** `Idempotency-Key`: a process that is killed between commit and answer. docs/limits.md. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  allNames,
  credentialsOf,
  newHome,
  processOnBothEngines,
  type RunningService,
  startService,
} from '../../support/process.ts'

/** Sends a request; the process is killed when its response begins to arrive, or after a delay. Returns the body that began to arrive. */
async function killBeforeAnswer(
  running: RunningService,
  token: string,
  body: string,
  afterMs?: number,
): Promise<string | undefined> {
  const { hostname, port } = new URL(running.address)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  const heard = new Promise<string | undefined>((resolve) => {
    socket.once('data', (chunk) => {
      running.child.kill('SIGKILL')
      resolve(String(chunk).split('\r\n\r\n')[1])
    })
    socket.once('close', () => resolve(undefined))
  })
  socket.write(
    `POST /v10/projects HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nIdempotency-Key: ${body}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  if (afterMs !== undefined) sleep(afterMs).then(() => running.child.kill('SIGKILL'))
  const answer = await heard
  socket.destroy()
  await running.kill('SIGKILL')
  return answer
}

processOnBothEngines(
  'killed between commit and answer, asked again: the same answer, one effect',
  async (t, engine) => {
    const home = await newHome(t, engine)
    let running = await startService(t, home)
    const { token } = credentialsOf(home)
    const rounds = engine === 'sqlite' ? 8 : 4
    const again = async (body: string) => {
      const answer = await fetch(`${running.address}/v10/projects`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': body },
        body,
      })
      return {
        status: answer.status,
        text: await answer.text(),
        replayed: answer.headers.get('idempotency-replayed') === 'true',
      }
    }
    let replays = 0
    for (let round = 0; round < rounds; round++) {
      const body = `{"name":"web${round}"}`
      // Half of them at any time, the others when the commit is done and the response has begun to leave.
      const lost = await killBeforeAnswer(running, token, body, round % 2 === 0 ? undefined : Math.random() * 20)
      running = await startService(t, home)
      const [first, second] = [await again(body), await again(body)]
      assert.deepEqual([first.status, second.status, second.replayed], [200, 200, true])
      assert.equal(second.text, first.text)
      if (lost !== undefined) {
        assert.deepEqual([first.replayed, first.text], [true, lost])
        replays++
      }
    }
    assert.ok(replays >= rounds / 2)
    assert.equal((await allNames(running, token)).size, rounds)
  },
)
