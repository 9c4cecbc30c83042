/** A real DNS server in the test's own process, UDP and TCP on one free port, that can do wrong whatever a server can do wrong. */
import { createSocket } from 'node:dgram'
import { createServer, type Socket } from 'node:net'
import packet from 'dns-packet'

/** The response for a name. `delayMs` waits first; `rcode` returns an error; `silent` never responds; `overTcp` truncates UDP. */
export type Zone = {
  /** Each record as its chunks. */
  txt?: string[][]
  a?: string[]
  aaaa?: string[]
  cname?: string
  rcode?: 'SERVFAIL' | 'REFUSED' | 'FORMERR' | 'NOTIMP'
  silent?: boolean
  overTcp?: boolean
  garbage?: boolean
  delayMs?: number
}

export type DnsServer = {
  /** `127.0.0.1:port`, as BERTH_DNS_SERVERS expects it. */
  address: string
  /** The response for each name; a name that is missing here does not exist. */
  zones: Map<string, Zone>
  /** The questions that arrived, as `TXT name`; over TCP as `tcp TXT name`. */
  asked: string[]
  /** The most questions that were open at once. */
  mostOpen(): number
  close(): Promise<void>
}

export async function startDnsServer(): Promise<DnsServer> {
  const zones = new Map<string, Zone>()
  const asked: string[] = []
  let open = 0
  let most = 0
  const answer = async (bytes: Buffer, tcp: boolean, send: (reply: Buffer) => void) => {
    const query = packet.decode(bytes)
    const question = query.questions![0]!
    asked.push(`${tcp ? 'tcp ' : ''}${question.type} ${question.name}`)
    const zone = zones.get(question.name.toLowerCase())
    open++
    most = Math.max(most, open)
    if (zone?.delayMs) await new Promise((resolve) => setTimeout(resolve, zone.delayMs))
    open--
    if (zone?.silent) return
    send(zone?.garbage ? Buffer.from('not dns at all') : reply(query.id!, question, zones, zone, tcp))
  }

  const tcp = createServer((socket) =>
    readFrames(socket, (bytes) => answer(bytes, true, (data) => sendFrame(socket, data))),
  )
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve))
  const { port } = tcp.address() as { port: number }
  const udp = createSocket('udp4')
  udp.on('message', (bytes, from) => answer(bytes, false, (data) => udp.send(data, from.port, from.address)))
  await new Promise<void>((resolve) => udp.bind(port, '127.0.0.1', resolve))
  return {
    address: `127.0.0.1:${port}`,
    zones,
    asked,
    mostOpen: () => most,
    close: async () => {
      await Promise.all([
        new Promise<void>((resolve) => udp.close(resolve)),
        new Promise((resolve) => tcp.close(resolve)),
      ])
    },
  }
}

const CODES = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 }

function reply(
  id: number,
  question: packet.Question,
  zones: Map<string, Zone>,
  zone: Zone | undefined,
  tcp: boolean,
): Buffer {
  const code = zone === undefined ? 'NXDOMAIN' : (zone.rcode ?? 'NOERROR')
  const cut = zone?.overTcp && !tcp
  return packet.encode({
    type: 'response',
    id,
    flags: packet.RECURSION_DESIRED | packet.RECURSION_AVAILABLE | (cut ? packet.TRUNCATED_RESPONSE : 0) | CODES[code],
    questions: [question],
    answers: cut || code !== 'NOERROR' ? [] : answersOf(question.name, question.type, zones, 0),
  })
}

function answersOf(name: string, type: string, zones: Map<string, Zone>, depth: number): packet.Answer[] {
  const zone = zones.get(name.toLowerCase())
  if (zone === undefined || depth > 5) return []
  if (zone.cname !== undefined) {
    const link: packet.Answer = { name, type: 'CNAME', ttl: 1, data: zone.cname }
    return type === 'CNAME' ? [link] : [link, ...answersOf(zone.cname, type, zones, depth + 1)]
  }
  if (type === 'TXT') return (zone.txt ?? []).map((data) => ({ name, type: 'TXT', ttl: 1, data }))
  if (type === 'A') return (zone.a ?? []).map((data) => ({ name, type: 'A', ttl: 1, data }))
  if (type === 'AAAA') return (zone.aaaa ?? []).map((data) => ({ name, type: 'AAAA', ttl: 1, data }))
  return []
}

/** Over TCP every message has its length before it. */
function readFrames(socket: Socket, take: (bytes: Buffer) => void): void {
  let pending: Buffer = Buffer.alloc(0)
  socket.on('error', () => {})
  socket.on('data', (data: Buffer) => {
    pending = Buffer.concat([pending, data])
    while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
      const end = 2 + pending.readUInt16BE(0)
      take(pending.subarray(2, end))
      pending = pending.subarray(end)
    }
  })
}

function sendFrame(socket: Socket, data: Buffer): void {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(data.length)
  socket.write(Buffer.concat([length, data]))
}
