/** Requests that are sent ahead, by an unauthenticated client that reads nothing of the answers. docs/threats.md T188. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Attack, again } from './scene.ts'

const ask = (path: string, times: number) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(times)
const SENT = [
  ask('/openapi.json', 100),
  ask('/docs', 1500),
  ask('/sign-in', 1500),
  ask('/', 1500),
  ask('/v2/user', 1500),
]
/** How long an attacker holds a connection. */
const STAYS_MS = [100, 500]

export const askAhead: Attack = {
  async prepare({ running, ended }) {
    const { hostname, port } = new URL(running.address)
    // It is made once in the life of a process, for the first client that asks (docs/limits.md: Connections).
    await fetch(`${running.address}/openapi.json`).then((answer) => answer.text())
    return () =>
      again(ended, 8, async (n) => {
        const socket = connect(Number(port), hostname).pause()
        await once(socket, 'connect')
        const closed = once(socket, 'close').catch(() => {})
        socket.on('error', () => {}).write(SENT[n % SENT.length]!)
        // An attacker who holds the connection shortly and then goes.
        await Promise.race([closed, sleep(STAYS_MS[n % STAYS_MS.length]!)])
        socket.destroy()
      })
  },
}
