/** Limits of the HTTP parser, with and without TLS. docs/limits.md: Sizes and timeouts. */
import { READERS } from '../../readers.ts'
import { PacedRequest } from './paced-request.ts'

export const HTTP_LIMITS = {
  headersTimeout: 10_000,
  connectionsCheckingInterval: 1000,
  maxHeaderSize: READERS.headers.bytes,
  IncomingMessage: PacedRequest,
  // Checked by src/platform/server/one-at-a-time.ts.
  requireHostHeader: false,
}
