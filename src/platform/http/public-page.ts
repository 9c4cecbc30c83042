/** What is there for everybody, beside the routes: pages, documents, and what machines ask about the service. */
import type { Peer } from './failure-limits.ts'

/** A page or document that is not part of the API: no token, no version, no transaction. */
export type PublicPage = {
  path: string
  contentType: string
  body: () => string | Buffer
  /** The body as gzip, where it is large. */
  zipped?: () => Promise<Buffer>
}
/** What machines ask about the service itself: as a page, but its status says something too. */
export type Probe = {
  path: string
  contentType: string
  answer: (authorization: string | undefined, peer: Peer, request: ProbeRequest) => ProbeAnswer | Promise<ProbeAnswer>
}
type ProbeRequest = { accept: string | undefined; acceptEncoding?: string | undefined; url: string }
export type ProbeAnswer = { status: number; body: string | Buffer; headers?: Record<string, string> }
