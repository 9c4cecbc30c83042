/** A thousand clients that stall: how long the others wait meanwhile, and what memory it takes. docs/spec/reliability.md T48. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { bodyOf, MIB, memoryOf, sendRaw } from '../support/clients/raw-connection.ts'
import { credentialsOf, newHome, processOnBothEngines, startService } from '../support/process.ts'
import { openTeam } from './noisy-neighbor/scene.ts'

processOnBothEngines(
  'a thousand stalled sockets and a thousand stalled bodies of a MiB: others are served at once, and memory is bounded',
  async (t, engine) => {
    const home = await newHome(t, engine)
    const running = await startService(t, home)
    const { token: attacker } = credentialsOf(home)
    const { token } = await openTeam(running, home, 'neighbor')
    const call = (method: string, path: string, body?: object) =>
      fetch(`${running.address}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
    assert.equal((await call('POST', '/v10/projects', { name: 'web' })).status, 200)
    const slow = Array.from({ length: 1000 }, () => sendRaw(running, 'GET /v2/user HTTP/1.1\r\nHost: x\r\n'))
    const most = Buffer.concat([Buffer.from(bodyOf(MIB, attacker)), Buffer.alloc(MIB - 1, ' ')])
    const stalled = Array.from({ length: 1000 }, () => sendRaw(running, most))
    // Eight are read and 256 wait. One that is refused while it sends may lose the answer to the reset of its connection.
    const refused = () =>
      stalled.filter(({ heard, socket }) => /^HTTP\/1\.1 429 /.test(heard()) || socket.destroyed).length
    const env = { key: 'K', value: 'x'.repeat(30_000), type: 'plain', target: ['production'], gitBranch: null }
    const write = async () => {
      const made = await call('POST', '/v10/projects/web/env?upsert=true', env)
      assert.equal(made.status, 201, await made.text())
    }
    // While they arrive this process is busy sending them: what is asked now is served, and not timed.
    while (refused() < 1000 - 8 - 256) await write()
    const took: number[] = []
    for (let n = 0; n < 200; n++) {
      const began = performance.now()
      assert.equal((await call('GET', '/v9/projects/web')).status, 200)
      took.push(performance.now() - began)
      if (n % 10 === 0) await write()
      await sleep(20)
    }
    assert.ok(slow.every(({ socket }) => !socket.destroyed) && stalled.some(({ socket }) => !socket.destroyed))
    const p99 = took.sort((a, b) => a - b)[Math.floor(took.length * 0.99)]!
    const cache = memoryOf(running)
    t.diagnostic(`p99 ${p99.toFixed(1)} ms, ${Math.round(cache)} MiB at most`)
    assert.ok(p99 <= 50, `p99 ${p99} ms`)
    assert.ok(cache * MIB <= 512e6, `${Math.round(cache)} MiB`)
    for (const { socket } of [...slow, ...stalled]) socket.destroy()
    assert.equal((await call('GET', '/v9/projects/web')).status, 200)
  },
)
