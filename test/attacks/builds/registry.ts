/** A program on the internet of a lab: a registry of npm that is slow, lies, or is as it should be, by the first part of the path. */
import { createServer, type ServerResponse } from 'node:http'
import { packumentOf, REGISTRY_PORT, tarballOf } from './packages.ts'

/** TABLE first part of the path → how a tarball is sent. A registry that is not named here answers nothing at all. */
const TARBALLS: Readonly<Record<string, (response: ServerResponse, bytes: Buffer) => void>> = {
  good: (response, bytes) => response.end(bytes),
  other: (response, bytes) => response.end(Buffer.concat([bytes, Buffer.from('other')])),
  half: (response, bytes) => void response.write(bytes.subarray(0, bytes.length / 2)),
  // Each byte comes before a client gives up, and there is no last one.
  endless(response, bytes) {
    response.write(bytes.subarray(0, bytes.length / 2))
    const timer = setInterval(() => response.write('x'), 500)
    response.on('close', () => clearInterval(timer))
  },
}

const server = createServer((request, response) => {
  const [, registry = '', name = ''] = request.url!.split('/')
  const send = TARBALLS[registry]
  if (send === undefined) return
  if (request.url!.endsWith('.tgz')) send(response, tarballOf(name))
  else response.setHeader('content-type', 'application/json').end(JSON.stringify(packumentOf(registry, name)))
})
server.listen(REGISTRY_PORT, '::', () => console.log('ready'))
