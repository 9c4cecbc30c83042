/** More connections than the process may have open files: accepted ones are served, others refused, and it recovers. docs/spec/reliability.md F26. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { eventually } from '../../support/eventually.ts'
import {
  allNames,
  credentialsOf,
  newHome,
  processOnBothEngines,
  sendRequest,
  startService,
} from '../../support/process.ts'
import { root } from '../../support/root.ts'

const PROGRAM = join(root, 'bin', 'berth.mjs')
const MAX_FILES = 80
const CALLERS = 120

processOnBothEngines(
  'without free file descriptors accepted connections are served, others are closed, and then all works as before',
  async (t, engine) => {
    const home = await newHome(t, engine)
    const limited = ['bash', '-c', `ulimit -n ${MAX_FILES}; exec "$0" "$1"`, process.execPath, PROGRAM]
    const running = await startService(t, home, {}, limited)
    const { token } = credentialsOf(home)
    const { hostname, port } = new URL(running.address)
    const sockets: Socket[] = []
    for (let at = 0; at < CALLERS; at++) {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => {})
      t.after(() => socket.destroy())
      await once(socket, 'connect')
      sockets.push(socket)
    }
    const statuses = await Promise.all(sockets.map((socket, at) => createOn(socket, token, `p${at}`)))
    const created = statuses.flatMap((status, at) => (status === 200 ? [`p${at}`] : []))
    const others = new Set(statuses.filter((status) => status !== 200))
    assert.ok(others.has(undefined), 'the limit was not met')
    // The connections to PostgreSQL are files too: if one cannot be opened, any request may get 503.
    const known = engine === 'sqlite' ? [undefined] : [undefined, 503]
    if (engine === 'sqlite') assert.ok(created.length > 0)
    assert.deepEqual(
      [...others].filter((status) => !known.includes(status)),
      [],
    )

    for (const socket of sockets) socket.destroy()
    // Until the program has noticed that they are gone, it turns others away.
    const create = async () =>
      (await sendRequest(running, token, 'POST', '/v10/projects', { name: 'afterwards' }))?.status
    await eventually(async () => {
      const status = await create()
      assert.ok([undefined, 200, 409, 503].includes(status), String(status))
      return status === 200 || status === 409
    })
    const names = await allNames(running, token)
    assert.deepEqual(
      created.filter((name) => !names.has(name)),
      [],
    )
    assert.equal(await running.kill('SIGTERM'), 0)
    assert.equal(/"level":(50|60)/.test(running.out()), false, running.out())
  },
)

/** Creates on a connection that is open. Gives the status; undefined when the connection was closed instead. */
async function createOn(socket: Socket, token: string, name: string): Promise<number | undefined> {
  const body = JSON.stringify({ name })
  const head = `POST /v10/projects HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  if (!socket.writable) return undefined
  const answered = Promise.race([once(socket, 'data'), once(socket, 'close')]).catch(() => [])
  socket.write(head + body)
  const [first] = await answered
  const status = /^HTTP\/1\.1 (\d{3})/.exec(String(first))?.[1]
  return status === undefined ? undefined : Number(status)
}
