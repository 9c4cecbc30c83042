/**
 * A program in a lab (test/sandbox/lab.ts) whose test is outside: it passes what comes in at a Unix socket on to the control plane. Runners ask the
 * control plane through it too, so a lease can have the time that its variable SECONDS names: no setting gives a build less than 45 minutes.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'

const [, , socket, api, edge] = process.argv

function passOn(port: string | undefined, change: (bytes: Buffer) => Buffer) {
  return createServer((from) => {
    const to = connect(Number(port), '127.0.0.1')
    for (const one of [from, to]) one.on('error', () => {})
    to.on('data', (bytes) => from.write(change(bytes as Buffer)))
    to.on('close', () => from.destroy())
    from.on('close', () => to.destroy())
    from.pipe(to)
  })
}

/** Of the same length, because the length was sent before. A lease is one piece. */
function withTime(bytes: Buffer): Buffer {
  const text = bytes.toString('latin1')
  const [, seconds] = /"SECONDS":"(\d+)"/.exec(text) ?? []
  if (seconds === undefined) return bytes
  const changed = text.replace(/"timeLimitMs":(\d+)/, (all) => `"timeLimitMs":${seconds}000`.padEnd(all.length))
  return Buffer.from(changed, 'latin1')
}

const forTest = passOn(api, (bytes) => bytes).listen(socket)
const forRunners = passOn(edge, withTime).listen(0, '127.0.0.1')
await Promise.all([once(forTest, 'listening'), once(forRunners, 'listening')])
console.log(`port ${(forRunners.address() as AddressInfo).port}`)
