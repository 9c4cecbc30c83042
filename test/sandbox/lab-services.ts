/** The services of a namespace of test/sandbox/lab.ts: TCP, UDP, an abstract socket, and a resolver. Prints what arrives. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { decode, encode } from 'dns-packet'

/** TABLE names that the resolver answers. */
const NAMES: Readonly<Record<string, string>> = {
  'good.test': '192.88.7.7',
  'private.test': '10.9.9.9',
  'metadata.test': '169.254.169.254',
  'host.test': '203.0.113.9',
}

const isHost = process.argv[2] === 'host'

const tcp = createServer((socket) => {
  socket.on('error', () => {})
  console.log(`tcp ${socket.localAddress}`)
  socket.end('hello\n')
})
tcp.listen(isHost ? 3000 : 80, '::')
await once(tcp, 'listening')

/** An answer comes from the address that was asked, where there is a socket for each. The host has a prefix whose addresses no card has. */
const ASKED = Object.values(networkInterfaces())
  .flatMap((list) => (list ?? []).map(({ address }) => address))
  .filter((address) => !address.startsWith('fe80:'))
for (const address of isHost ? ['::'] : ASKED) {
  const udp = createSocket(address.includes(':') ? 'udp6' : 'udp4')
  udp.on('message', (_, from) => {
    console.log(`udp from ${from.address}`)
    udp.send('hello\n', from.port, from.address)
  })
  udp.bind(9999, address)
  await once(udp, 'listening')
}

if (isHost) {
  const abstract = createServer((socket) => {
    console.log('abstract socket')
    socket.end('hello\n')
  })
  abstract.listen('\0berth-lab')
  await once(abstract, 'listening')
}

if (!isHost) {
  const dns = createSocket('udp4')
  dns.on('message', (data, from) => {
    const { id, questions = [] } = decode(data)
    const [question] = questions
    const address = NAMES[question?.name ?? '']
    const answers =
      address && question?.type === 'A' ? [{ type: 'A' as const, name: question.name, data: address }] : []
    dns.send(encode({ type: 'response', id, flags: 0x180, questions, answers }), from.port, from.address)
  })
  dns.bind(53, '10.9.9.53')
  await once(dns, 'listening')
}
console.log('ready')
