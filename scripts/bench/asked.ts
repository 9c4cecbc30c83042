/** What a load asks: requests with placeholders for numbers, filled for every request, by wrk's Lua or by autocannon. */

/**
 * Places are of one width each, so that all requests are of one length: `{n}` a random number below `of` (8 digits), `{a}` the account that
 * has project `n` (`n` modulo `accounts`, 40 digits), `{i}` the number of the request (8 digits), `{t}` which token's turn it is (8 digits),
 * `{p}` which new project's turn it is (8 digits).
 */
export type Asked = {
  method: 'GET' | 'POST' | 'PATCH'
  path: string
  headers: Record<string, string>
  body?: string
  of?: number
  accounts?: number
}

/** A token of the peer is counted, and refused after 5,000 requests. */
const REQUESTS_A_TOKEN = 3500
/** Variables created per project: the limit is 1,000 per target. */
const VARIABLES_A_PROJECT = 900
const PLACES = { n: 8, a: 40, i: 8, t: 8, p: 8 }
const PLACE = /\{([naitp])\}/g

/** A request as it is sent. */
export type Filled = { method: string; path: string; headers: Record<string, string>; body?: string }

/** Fills every place. `i`: the number of the request; `n`: instead of a random number. */
export function fill({ method, path, headers, body, of = 1, accounts = 1 }: Asked, i: number, n?: number): Filled {
  const random = n ?? Math.floor(Math.random() * of)
  const values = {
    n: random,
    a: random % accounts,
    i,
    t: Math.floor(i / REQUESTS_A_TOKEN),
    p: Math.floor(i / VARIABLES_A_PROJECT),
  }
  const put = (text: string) =>
    text.replaceAll(PLACE, (_, place: keyof typeof PLACES) => String(values[place]).padStart(PLACES[place], '0'))
  const filled = Object.entries(headers).map(([name, value]) => [name, put(value)])
  return {
    method,
    path: put(path),
    headers: Object.fromEntries(filled),
    ...(body !== undefined && { body: put(body) }),
  }
}

/** The function `request` of a script of wrk. */
export function luaOf(asked: Asked, origin: string): string {
  const { method, path, headers, body = '', of = 1, accounts = 1 } = asked
  const length = fill(asked, 0).body?.length
  const lines = [
    `${method} ${path} HTTP/1.1`,
    ...Object.entries({ host: new URL(origin).host, ...headers }).map(([name, value]) => `${name}: ${value}`),
    ...(length === undefined ? [] : ['content-type: application/json', `content-length: ${length}`]),
  ]
  const text = `${lines.join('\r\n')}\r\n\r\n${body}`
  const places = [...text.matchAll(PLACE)].map(([, place]) => place)
  const format = text.replaceAll('%', '%%').replaceAll(PLACE, (_, place: keyof typeof PLACES) => `%0${PLACES[place]}d`)
  return `local i = -1
math.randomseed(os.time())
function request()
  i = i + 1
  local n = math.random(0, ${of - 1})
  local a = n % ${accounts}
  local t = math.floor(i / ${REQUESTS_A_TOKEN})
  local p = math.floor(i / ${VARIABLES_A_PROJECT})
  return string.format(${[JSON.stringify(format), ...places].join(', ')})
end
`
}
