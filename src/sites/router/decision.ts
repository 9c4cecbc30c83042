/** What the router gives: what to do with a request. The sites server does it. docs/deploying-sites.md: Router. */
import type {
  FunctionBundle,
  Header,
  Match,
  Prerender,
  StaticFile,
  Transform,
} from '../../delivery/protocol/routing-manifest.ts'

/** Where routing stopped to ask a middleware. Survives a structured clone. */
export type MiddlewareState = { routing: Routing; at: number; captures: Captures }

export type Captures = Map<string, string>

/** Survives a structured clone, so that it can wait for a middleware outside of the worker. */
export type Routing = Omit<Routed, 'headers'> & {
  method: string
  host: string
  /** What the visitor asked for. */
  visitorPath: string
  listsFolders: boolean
  /** What the rules made of it. */
  path: string
  search: string
  requestHeaders: Map<string, string>
  headersChanged: boolean
  /** The query, once a rule needed its parts. */
  query: Pair[] | undefined
  queryChanged: boolean
  cookieJar: Map<string, string> | undefined
  status: number | undefined
  /** A rule without `continue` and `dest` has set the status: no later phase changes it unless it finds something. */
  stopped: boolean
  headers: Map<string, string>
  /** Headers of rules with `important`: the first value stays, and wins over others. */
  importantHeaders: Map<string, string>
  destinationQuery: Pair[]
  concretePath: string | undefined
  invocationPath: string | undefined
  /** A middleware has replaced the path. */
  rewritten: boolean
  middlewareRun: string[]
  lookups: number
  /** Characters that rules have written so far. */
  written: number
  /** The weight of the transforms of the response so far. */
  noted?: number
}

export type Pair = readonly [name: string, value: string]

/** A change of response headers, in the order of the rules. It applies to those of a function too. */
export type ResponseTransform = { op: Transform['op']; match: Match; value: string }

/** What holds for every decision. */
export type Routed = {
  /** Headers of the response. They replace those of a function. */
  headers: Header[]
  cookies: string[]
  responseTransforms: ResponseTransform[]
  /** The rules that matched, by their place in config.json, in the order in which they did. */
  rules: number[]
  /** Every GET of the same path gets the same decision, whatever its query, headers and host are. */
  reusable: boolean
}

/** The request as a function, a middleware or another origin gets it. */
type ForwardedRequest = {
  path: string
  /** With its question mark, or empty. */
  search: string
  /** All headers, where rules changed them. Absent: as they came. */
  headers?: Pair[]
}

/** How a function is asked. */
export type Invocation = ForwardedRequest & {
  /** Value of `x-matched-path`. */
  matchedPath: string
  /** The path that a prerendered page is made for: with the parameters of the visitor, in the form of the output. */
  concretePath: string
  /** The query that rules added: value of `x-now-route-matches`. */
  routeMatches: string
}

/** The files of a folder: its path, which ends in a slash, and names in their order. Those of folders end in a slash. `isWhole`: there are no more. */
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
        invocation: Invocation
      }
    | ({ kind: 'folder' } & FolderList)
    | { kind: 'image'; search: string }
    | { kind: 'redirect'; status: number; location: string }
    | { kind: 'proxy'; status?: number; url: string; request: ForwardedRequest }
    /** Ask this function, then call `resume` with its answer. */
    | {
        kind: 'middleware'
        name: string
        bundle: FunctionBundle | undefined
        request: ForwardedRequest
        state: MiddlewareState
      }
    /** The answer of the middleware, which the sites server holds, goes to the visitor. */
    | { kind: 'answer'; status: number }
    | { kind: 'error'; status: number; code: ErrorCode }
  )

/** TABLE codes of errors that the router finds, for the header `x-vercel-error` and the page. */
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
