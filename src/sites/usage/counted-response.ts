/** A response that counts the bytes of its body. docs/deploying-sites.md: Usage. */
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Not by `import`: operations/edge/listener.ts says why. */
const { ServerResponse: Plain } = process.getBuiltinModule('node:http')

/** What the listener answers with. It is made for each request, so it has no function of its own. */
export class CountedResponse<R extends IncomingMessage = IncomingMessage> extends Plain<R> {
  /** The deployment that it is counted for; undefined: none yet. */
  deploymentId: string | undefined = undefined
  /** Handed to the connection. Of an answer that is cut off, what the connection still held is among them: a piece of a file or so. */
  #bytes = 0

  override write(...said: [piece: unknown, ...rest: unknown[]]): boolean {
    this.#note(said[0])
    return super.write(...(said as Parameters<ServerResponse['write']>))
  }

  override end(...said: [last?: unknown, ...rest: unknown[]]): this {
    this.#note(said[0])
    return super.end(...(said as Parameters<ServerResponse['end']>))
  }

  /** The bytes of the body. What has no body has none, whatever was to be sent (RFC 9110 6.4.1). */
  get bodyBytes(): number {
    const { statusCode } = this
    return statusCode === 204 || statusCode === 304 || this.req.method === 'HEAD' ? 0 : this.#bytes
  }

  #note(piece: unknown): void {
    if (this.destroyed) return
    if (typeof piece === 'string') this.#bytes += Buffer.byteLength(piece)
    else if (piece instanceof Uint8Array) this.#bytes += piece.byteLength
  }
}
