/** How requests are read off a connection, with TLS and without. docs/limits.md: Sizes and time. */
import { READERS } from '../../readers.ts'
import { PacedRequest } from './paced-request.ts'

export const HTTP_LIMITS = {
  headersTimeout: 10_000,
  connectionsCheckingInterval: 1000,
  maxHeaderSize: READERS.headers.bytes,
  IncomingMessage: PacedRequest,
  // src/platform/server/one-at-a-time.ts asks for it.
  requireHostHeader: false,
}
