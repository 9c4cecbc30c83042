/** A response that counts the bytes of its body. docs/deploying-sites.md: Usage. */
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Not imported: operations/edge/listener.ts explains why. */
const { ServerResponse: Plain } = process.getBuiltinModule('node:http')

/** Instances are created per request, so it is a class. */
export class CountedResponse<R extends IncomingMessage = IncomingMessage> extends Plain<R> {
  /** The deployment to count for; undefined until it is known. */
  deploymentId: string | undefined = undefined
  /** Bytes handed to the connection. If the response is aborted, they include its buffer, about one piece of a file. */
  #bytes = 0

  override write(...written: [piece: unknown, ...rest: unknown[]]): boolean {
    this.#note(written[0])
    return super.write(...(written as Parameters<ServerResponse['write']>))
  }

  override end(...written: [last?: unknown, ...rest: unknown[]]): this {
    this.#note(written[0])
    return super.end(...(written as Parameters<ServerResponse['end']>))
  }

  /** Bytes of the body; 0 for responses without one (RFC 9110 6.4.1). */
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
