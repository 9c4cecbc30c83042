import type { IncomingMessage } from 'node:http'

/**
 * Reads the body of a request of a runner or a sites server, at most `max` bytes; undefined when it is longer, and empty when the connection
 * breaks. Call it in the same event loop turn as the request, before parts of the body are lost.
 */
export function readShortBody(request: IncomingMessage, max: number): Promise<string | undefined> {
  // An empty body has ended already.
  if (request.readableEnded) return Promise.resolve('')
  return new Promise((resolve) => {
    const pieces: Buffer[] = []
    let bytes = 0
    request.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes <= max) return void pieces.push(piece)
      pieces.length = 0
      resolve(undefined)
    })
    request.once('end', () => resolve(Buffer.concat(pieces).toString()))
    request.once('close', () => resolve(''))
  })
}
