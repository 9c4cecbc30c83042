/** Public pages, documents and probes outside the API. */
import type { Peer } from './failure-limits.ts'

/** A page or document outside the API: no token, version or transaction. */
export type PublicPage = {
  path: string
  contentType: string
  body: () => string | Buffer
  /** The body as gzip, if it is large. */
  zipped?: () => Promise<Buffer>
}
/** A health or metrics endpoint: a page with a status. */
export type Probe = {
  path: string
  contentType: string
  answer: (authorization: string | undefined, peer: Peer, request: ProbeRequest) => ProbeAnswer | Promise<ProbeAnswer>
}
type ProbeRequest = { accept: string | undefined; acceptEncoding?: string | undefined; url: string }
export type ProbeAnswer = { status: number; body: string | Buffer; headers?: Record<string, string> }
