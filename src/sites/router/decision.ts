/** Decisions of the router, which the sites server carries out. docs/deploying-sites.md: Router. */
import type {
  Condition,
  FunctionBundle,
  Header,
  Match,
  Prerender,
  StaticFile,
  Transform,
} from '../../delivery/protocol/routing-manifest.ts'
import type { AskedPicture } from '../pictures/picture-request.ts'

/** The state of routing while a middleware runs. Survives a structured clone. */
export type MiddlewareState = { routing: Routing; at: number; captures: Captures }

export type Captures = Map<string, string>

/** Survives a structured clone, so it can be stored outside the worker while a middleware runs. */
export type Routing = Omit<Routed, 'headers'> & {
  method: string
  host: string
  visitorPath: string
  listsFolders: boolean
  /** The path after the rules so far. */
  path: string
  search: string
  requestHeaders: Map<string, string>
  headersChanged: boolean
  /** The query, parsed once a rule needs its parts. */
  query: Pair[] | undefined
  queryChanged: boolean
  cookieJar: Map<string, string> | undefined
  status: number | undefined
  /** A rule without `continue` and `dest` has set the status. Later phases change it only if they find an output. */
  stopped: boolean
  headers: Map<string, string>
  /** Headers of rules with `important`: the first value stays and overrides others. */
  importantHeaders: Map<string, string>
  /** Headers that were set before the phase `miss`, while it runs. */
  settled: Set<string> | undefined
  destinationQuery: Pair[]
  concretePath: string | undefined
  invocationPath: string | undefined
  /** Of a rewrite of a middleware, for what is found there. */
  rewriteStatus: number | undefined
  middlewareRun: string[]
  lookups: number
  written: number
  noted?: number
}

export type Pair = readonly [name: string, value: string]

/** A change of response headers, in rule order. It also applies to headers of a function. */
export type ResponseTransform = { op: Transform['op']; match: Match; value: string }

export type Routed = {
  /** Response headers. They replace those of a function. */
  headers: Header[]
  cookies: string[]
  responseTransforms: ResponseTransform[]
  /** Indexes in config.json of the rules that matched, in matching order. */
  rules: number[]
  /** Every GET of this path gets the same decision if it is equal in `looked`. That of a function or a page has its own query in it. */
  reusable: boolean
  /** What the rules looked at, but for the path and the method. */
  looked: Map<string, Subject>
}

/** A part of a request. `search`: all of the query. */
export type Subject = Pick<Condition, 'type' | 'key'> | { type: 'search'; key: '' }

/** The request as sent to a function, a middleware or another origin. */
type ForwardedRequest = {
  path: string
  search: string
  /** All headers, if rules changed them. Absent: unchanged. */
  headers?: Pair[]
}

export type Invocation = ForwardedRequest & {
  matchedPath: string
  /** The path of the prerendered page: with the visitor's parameters, in the form of the output. */
  concretePath: string
  /** The query that rules added: value of `x-now-route-matches` of a request for a prerendered page. */
  routeMatches: string
}

/** The files of a folder. `path` ends in a slash, as do names of folders. `names` are sorted. `isWhole`: the list is complete. */
export type FolderList = { path: string; names: string[]; isWhole: boolean }

export type Decision = Routed &
  (
    | { kind: 'file'; status: number; file: StaticFile }
    | { kind: 'function'; status?: number; bundle: FunctionBundle; invocation: Invocation }
    | {
        kind: 'prerender'
        status?: number
        path: string
        bundle: FunctionBundle
        prerender: Prerender
        /** A condition of the page says that this request is not answered by a kept page. */
        bypasses: boolean
        invocation: Invocation
      }
    | ({ kind: 'folder' } & FolderList)
    | { kind: 'image'; picture: AskedPicture }
    | { kind: 'redirect'; status: number; location: string }
    /** A rule answers this status, without a body. */
    | { kind: 'status'; status: number }
    | { kind: 'proxy'; status?: number; url: string; request: ForwardedRequest }
    /** Call this function, then call `resume` with its response. */
    | {
        kind: 'middleware'
        name: string
        bundle: FunctionBundle | undefined
        request: ForwardedRequest
        state: MiddlewareState
      }
    /** The middleware response, which the sites server holds, goes to the visitor. */
    | { kind: 'answer'; status: number }
    | { kind: 'error'; status: number; code: ErrorCode }
  )

/** TABLE router error codes, for the header `x-vercel-error` and the page. */
export const ERROR_CODES = {
  NOT_FOUND: 'no file and no function has this path',
  DENIED: 'a rule of the deployment denies the request',
  INFINITE_LOOP_DETECTED: 'the rules of the deployment send the request in circles',
  ROUTING_TOO_LARGE: 'the rules of the deployment make a path, a header or a query that is too long',
  ROUTER_EXTERNAL_TARGET_ERROR: 'a rule of the deployment names an address that is none',
  STATUS: 'a rule of the deployment answers this status',
  ROUTING_TIMEOUT: 'the patterns of the deployment took too long for this request',
  ROUTING_BUDGET_SPENT:
    'the patterns of this account took too long for several requests: it is tried again after 10 seconds',
  ROUTING_BUSY: 'too many requests of this account wait for a decision',
} as const
export type ErrorCode = keyof typeof ERROR_CODES
