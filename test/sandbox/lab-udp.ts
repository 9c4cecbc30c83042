/** A server on the internet of test/sandbox/lab.ts: prints each datagram and answers it. Another machine sends one to its sender too. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'

const [server, other] = [createSocket('udp4'), createSocket('udp4')]
server.on('message', (text, from) => {
  console.log(JSON.stringify({ text: String(text), port: from.port }))
  server.send(`answer ${from.port} ${text}`, from.port, from.address)
  other.send('unsolicited', from.port, from.address)
})
server.bind(7777, '192.88.7.7')
other.bind(7777, '192.88.8.7')
await Promise.all([once(server, 'listening'), once(other, 'listening')])
console.log('ready')
