/** Long bodies wait in their connections until their account has a turn. docs/limits.md: Sizes and timeouts. */
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { eventually } from '../../support/eventually.ts'
import { onBothEngines } from '../../support/world.ts'

const LONG = 60_000
/** Long bodies of an account that are read at once. */
const AT_ONCE = 8

type Client = { socket: Socket; heard: () => string }

/** Begins a create of a project whose body has this many bytes, and sends `part` of it. */
function begin(address: string, token: string, bytes: number, part = ''): Client {
  const { hostname, port } = new URL(address)
  let heard = ''
  const head = `POST /v10/projects HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`
  const socket = connect(Number(port), hostname, () => socket.write(head + part))
  socket
    .on('error', () => {})
    .on('data', (chunk) => {
      heard += chunk
    })
  return { socket, heard: () => heard }
}

const project = (name: string, bytes: number) => JSON.stringify({ name }).padEnd(bytes)
const statusOf = ({ heard }: Client) => /^HTTP\/1\.1 (\d+)/.exec(heard())?.[1]
async function answered(client: Client, status: string): Promise<void> {
  await eventually(() => statusOf(client) !== undefined)
  assert.equal(statusOf(client), status, client.heard())
}

onBothEngines(
  'an unauthenticated client is refused before a long body is read, and the connection goes on behind it',
  async (world) => {
    const [address, { token }] = [await world.listen(), world.credentials]
    const client = begin(address, 'x'.repeat(24), LONG)
    await answered(client, '401')
    const next = `GET /v2/user HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`
    client.socket.write(project('web', LONG) + next)
    await eventually(() => client.heard().includes('HTTP/1.1 200 '))
    const tooLong = begin(address, 'x'.repeat(24), 1e9)
    await answered(tooLong, '413')
    for (const { socket } of [client, tooLong]) socket.destroy()
  },
)

onBothEngines(
  'stalled long bodies of an account keep back its next one, no short one, and no other account',
  async (world) => {
    const [address, { token }, other] = [await world.listen(), world.credentials, await world.user('other')]
    const stalled = Array.from({ length: AT_ONCE }, () => begin(address, token, LONG, '{'))
    // Each has its place once a request that came later is answered.
    await answered(begin(address, token, 20, project('short', 20)), '200')
    const waiting = begin(address, token, LONG, project('waiting', LONG))
    for (const name of ['second', 'third']) await answered(begin(address, token, 20, project(name, 20)), '200')
    await answered(begin(address, other.token, LONG, project('of-another', LONG)), '200')
    assert.equal(waiting.heard(), '')
    stalled[0]!.socket.destroy()
    await answered(waiting, '200')
    for (const { socket } of stalled) socket.destroy()
  },
)
