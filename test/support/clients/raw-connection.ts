/** Clients that stall, over real sockets, to measure what they cost the service. */
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import type { RunningService } from '../process.ts'

export const MIB = 1024 * 1024

export type RawConnection = { socket: Socket; heard(): string; closed: Promise<number> }

/** Opens a connection that sends these bytes, and then nothing. `closed`: the time in ms until the other side closed it. */
export function sendRaw(running: RunningService, bytes: string | Buffer): RawConnection {
  const { hostname, port } = new URL(running.address)
  const began = performance.now()
  let heard = ''
  const socket = connect(Number(port), hostname, () => socket.write(bytes))
  socket.on('data', (chunk) => {
    heard += chunk
  })
  socket.on('error', () => {})
  const closed = new Promise<number>((resolve) => socket.on('close', () => resolve(performance.now() - began)))
  return { socket, heard: () => heard, closed }
}

export function bodyOf(length: number, token: string, path = '/v10/projects/web/env'): string {
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
}

/** The most memory it ever had resident, in MiB. */
export function memoryOf(running: RunningService): number {
  const text = readFileSync(`/proc/${running.child.pid}/status`, 'utf8')
  return Number(/VmHWM:\s+(\d+)/.exec(text)?.[1]) / 1024
}
