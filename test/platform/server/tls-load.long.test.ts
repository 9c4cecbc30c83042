/** https under load: a certificate is renewed, and connections say nothing. docs/tls.md. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { connect as connectPlain, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../../support/eventually.ts'
import type { RunningService } from '../../support/process.ts'
import type { CertificateFiles } from '../../support/servers/certificates.ts'
import { about, ask, openSecure, shake } from '../tls/https-service.ts'

/** Puts another pair in the place of one, each file at once. */
function replace(place: CertificateFiles, certText: string, keyText: string): void {
  for (const [file, text] of [
    [place.cert, certText],
    [place.key, keyText],
  ] as const) {
    writeFileSync(`${file}.new`, text)
    renameSync(`${file}.new`, file)
  }
}

async function commonName(running: RunningService): Promise<string> {
  const socket = await shake(running)
  const { subject } = socket.getPeerCertificate()
  socket.destroy()
  return String(subject.CN)
}

test(
  'a certificate that is renewed under load is taken, and no request is lost; half a pair changes nothing',
  about,
  async (t) => {
    const { service, first, make, token } = await openSecure(t)
    const expired = make('expired', { from: -20, until: -1 })
    const renewed = make('renewed')
    const { hostname, port } = new URL(service.address)
    let [answered, running] = [0, true]
    const failures: string[] = []
    // A load that is not stopped would call a service that is gone, and delay the end of the run.
    t.after(() => {
      running = false
    })
    const load = async (agent: Agent) => {
      while (running) {
        const headers = { authorization: `Bearer ${token}` }
        const asked = request({ hostname, port, path: '/v2/user', agent, headers, rejectUnauthorized: false }).end()
        try {
          const [answer] = (await once(asked, 'response')) as [IncomingMessage]
          answer.resume()
          await once(answer, 'end')
          if (answer.statusCode === 200) answered++
          else failures.push(`${answer.statusCode}`)
        } catch (error) {
          failures.push(String(error))
        }
      }
    }
    // Some keep their connections, some open a new one for each request.
    const agents = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true }), new Agent({ keepAlive: false })]
    const loads = agents.map(load)
    assert.equal(await commonName(service), 'first')

    writeFileSync(first.cert, renewed.certText)
    await eventually(async () => service.out().includes('keeping the current certificate'))
    assert.equal(await commonName(service), 'first')
    writeFileSync(first.cert, renewed.certText.slice(0, 200))
    // It may not be loaded, also not by the next check of the files.
    await sleep(2500)
    assert.equal(await commonName(service), 'first')

    replace(first, expired.certText, expired.keyText)
    await eventually(async () => (await commonName(service)) === 'expired')
    await eventually(async () => service.out().includes('the certificate has expired'))
    replace(first, renewed.certText, renewed.keyText)
    await eventually(async () => (await commonName(service)) === 'renewed')
    running = false
    await Promise.all(loads)
    for (const agent of agents) agent.destroy()
    assert.deepEqual(failures, [])
    assert.ok(answered > 100, `${answered}`)
    assert.equal(await service.kill('SIGTERM'), 0)
  },
)

test('silent connections are cut off, few of them at a time, and others do not wait for them', about, async (t) => {
  const { service } = await openSecure(t)
  const { hostname, port } = new URL(service.address)
  const silent: Socket[] = []
  let closed = 0
  for (let at = 0; at < 1500; at++) {
    const socket = connectPlain(Number(port), hostname)
    socket.on('error', () => {})
    socket.on('close', () => closed++)
    silent.push(socket)
    if (at % 100 === 99) {
      await once(socket, 'connect')
      assert.equal(await ask(service), 200)
    }
  }
  await eventually(async () => closed >= 500)
  assert.ok(closed < 1500, 'the others wait for their time')
  await eventually(async () => closed === 1500)
  assert.equal(await ask(service), 200)
})
