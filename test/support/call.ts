/** HTTP calls of tests, with typed responses. The fields follow from the method, the path and the reply that the route of the table declares. */
import type { Static, TSchema } from 'typebox'
import type { Route } from '../../src/platform/http/route.ts'
import type { ErrorBody } from '../../src/platform/refusals/error-body.ts'
import type { Routes } from '../../src/routes.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD' | 'OPTIONS'

/** A response whose body may be a refusal, and for a known path the reply of its route. */
export type ApiResponse<Body = Refused> = {
  status: number
  headers: Record<string, string | string[] | number | undefined>
  text: string
  body: Body
}

/** Sends a request and returns any response. The path is known if it is a literal, a template, or a constant that ends in `as const`. */
export type Ask = <M extends Method, const U extends string>(
  method: M,
  url: U,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<ApiResponse<BodyOf<ReplyTo<M, U>>>>

/** Sends a request and throws if the status is 400 or more. A test that expects such a response uses `call.try` and inspects it. */
export type Call = Ask & { try: Ask }

/** Refusals of requests by `try` that the test has not inspected yet. */
const unseen = new Set<string>()

/** Creates the call that throws a refusal, and its `try`. */
export function callOver(ask: Ask): Call {
  const call: Ask = async (method, url, ...rest) => {
    // Created before the request: later the stack would not contain the line of the test.
    const refused = new Error()
    const answer = await ask(method, url, ...rest)
    if (answer.status < 400) return answer
    refused.message = `${lineOf(method, url, answer)}\nA test that wants to see it asks by call.try(…)`
    throw refused
  }
  return Object.assign(call, {
    try: (async (method, url, ...rest) => {
      const { stack = '' } = new Error()
      const answer = await ask(method, url, ...rest)
      return answer.status < 400 ? answer : untilSeen(answer, `${lineOf(method, url, answer)}\n${stack}`)
    }) satisfies Ask,
  })
}

/** Returns and clears the refusals by `try` that the test has not inspected, each with its line in the test. */
export function takeUnseen(): string[] {
  const lines = [...unseen]
  unseen.clear()
  return lines
}

function lineOf(method: string, url: string, { status, text }: ApiResponse<unknown>): string {
  return `${method} ${url} answered ${status} ${text.slice(0, 1000)}`
}

/** Returns the response, which counts as not inspected until a field of it is read. */
function untilSeen<A extends ApiResponse<unknown>>(answer: A, line: string): A {
  const noted = `${unseen.size} ${line}`
  unseen.add(noted)
  return new Proxy(answer, {
    get(target, name, receiver) {
      if (name !== 'then') unseen.delete(noted)
      return Reflect.get(target, name, receiver)
    },
  })
}

/** Every field that the response may have, of a reply or of a refusal: the assertion of a test checks that it exists. */
export type BodyOf<Reply> = Present<Reply> & Refused
type Refused = Present<Static<typeof ErrorBody>>

/** No field is optional or null, a list has the first rows, and one item or a list of them has the fields of both. */
type Present<T, Union = T> = T extends readonly (infer Row)[]
  ? Row extends Union & object
    ? Rows<Present<Row>> & Present<Row>
    : Rows<Present<Row>>
  : T extends object
    ? [Union] extends [T]
      ? Fields<T>
      : T[] extends Union
        ? never
        : Fields<T>
    : T
type Fields<T> = { [Name in keyof T]-?: Present<NonNullable<T[Name]>> }
type Rows<Row> = [Row, Row, Row, Row, Row, Row, ...Row[]]

/** The reply of the route at this path; `unknown` for an unsupported route. */
export type ReplyTo<M extends Method, U extends string> = Find<Tree<Entry>, [M, ...SegmentsOf<PathOf<U>>]>

type Find<At, Path> = Path extends [infer Head extends string, ...infer Rest]
  ? KeyOf<Head, keyof At> extends infer Key extends keyof At
    ? Find<At[Key], Rest>
    : unknown
  : At
type KeyOf<Head extends string, Names> = Head extends Names
  ? Head
  : [NameBefore<Head, Names>] extends [never]
    ? ':'
    : NameBefore<Head, Names>
/** `env${string}` is `env` and a query; a literal does not match it. */
type NameBefore<Head extends string, Names> =
  Record<never, 1> extends Record<Head, 1>
    ? Names extends string
      ? Names extends ''
        ? never
        : Head extends `${Names}${string}`
          ? Names
          : never
      : never
    : never

/** The routes as a tree of the segments of their paths: `['GET']['projects'][':']['']` is the reply of `GET /projects/:idOrName`. */
type Tree<Rows> = {
  [Head in HeadOf<Rows>]: Head extends '' ? ReplyOf<Rows> : Tree<Below<Rows, Head>>
}
type HeadOf<Rows> = Rows extends { at: [infer Head extends string, ...unknown[]] } ? Head : never
type ReplyOf<Rows> = Rows extends { at: ['']; reply: infer Reply } ? Reply : never
type Below<Rows, Head> = Rows extends { at: [Head, ...infer Rest]; reply: infer Reply }
  ? { at: Rest; reply: Reply }
  : never

type Entry = Routes extends infer R ? EntryOf<R> : never
type EntryOf<R> = R extends Route<infer M, infer P, infer Reply> ? RowOf<M, P, Reply> : never
type RowOf<M, P, Reply> = P extends string
  ? { at: [M, ...Nameless<SegmentsOf<PathOf<P>>>]; reply: TSchema extends Reply ? unknown : Static<Reply & TSchema> }
  : never
/** With `:` for a parameter of any name. */
type Nameless<Path> = { [At in keyof Path]: Path[At] extends `:${string}` ? ':' : Path[At] }

/** Without query, version and `now`: a public operation responds at any version. */
type PathOf<U extends string> = U extends `${infer Path}?${string}`
  ? PathOf<Path>
  : U extends `/v${infer _}/${infer Path}`
    ? WithoutNow<Path>
    : U extends `/${infer Path}`
      ? WithoutNow<Path>
      : U
type WithoutNow<P extends string> = P extends `now/${infer Path}` ? Path : P

type SegmentsOf<P extends string> = P extends `${infer Head}/${infer Rest}` ? [Head, ...SegmentsOf<Rest>] : [P, '']

/** Asks as `call` does, with more in the query of every request: `teamId=…`. */
export function callWith(call: Call, query: string): Call {
  return callOver((method, url, ...rest) => call.try(method, withQuery(url, query), ...rest))
}

/** Appends to a query, if there is one. The path is the same, and so is its type. */
export function withQuery<const U extends string>(url: U, query: string): U {
  if (query === '') return url
  return `${url}${url.includes('?') ? '&' : '?'}${query}` as U
}
