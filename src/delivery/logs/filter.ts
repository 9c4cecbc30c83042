/** The filter of `vercel logs --query`: fields, comparisons, AND, OR, NOT and parentheses. docs/functions.md: Log. */

/** Fields by name. */
export type Fields = Readonly<Record<string, string | number | boolean>>
export type Filter = (fields: Fields) => boolean

const MAX_TOKENS = 200
const MAX_DEPTH = 20
/** Of a word. The search of the engine for a longer one can take as many steps as word and line have characters, multiplied. */
export const MAX_WORD = 250
const TOKEN = /\s*(>=|<=|[():<>]|"(?:[^"\\]|\\.)*"|[^\s():<>"]+)/y

class BadFilter extends Error {}

type State = { tokens: readonly string[]; at: number; depth: number; known: ReadonlySet<string> }

/** Reads a filter. Returns a sentence where it is wrong. `known`: the names of fields. */
export function readFilter(text: string, keys: ReadonlySet<string>): Filter | { sentence: string } {
  try {
    const state = { tokens: tokensOf(text), at: 0, depth: 0, known: keys }
    if (state.tokens.length === 0) return () => true
    const filter = readAny(state)
    if (state.at < state.tokens.length) throw new BadFilter(`"${state.tokens[state.at]}" is not expected here`)
    return filter
  } catch (error) {
    if (!(error instanceof BadFilter)) throw error
    return { sentence: `The filter is wrong: ${error.message}. An example: level:error AND requestPath:/api/*` }
  }
}

function tokensOf(text: string): string[] {
  const tokens: string[] = []
  TOKEN.lastIndex = 0
  for (let end = 0; end < text.trimEnd().length; end = TOKEN.lastIndex) {
    const token = TOKEN.exec(text)?.[1]
    if (token === undefined) throw new BadFilter('a quotation mark has no end')
    if (tokens.push(token) > MAX_TOKENS) throw new BadFilter(`it has more than ${MAX_TOKENS} words`)
  }
  return tokens
}

function readAny(state: State): Filter {
  const parts = [readAll(state)]
  while (state.tokens[state.at] === 'OR') {
    state.at++
    parts.push(readAll(state))
  }
  return parts.length === 1 ? parts[0]! : (fields) => parts.some((part) => part(fields))
}

/** Words next to each other must all hold. */
function readAll(state: State): Filter {
  const parts = [readOne(state)]
  for (
    let next = state.tokens[state.at];
    next !== undefined && next !== 'OR' && next !== ')';
    next = state.tokens[state.at]
  ) {
    if (next === 'AND') state.at++
    parts.push(readOne(state))
  }
  return parts.length === 1 ? parts[0]! : (fields) => parts.every((part) => part(fields))
}

function readOne(state: State): Filter {
  const token = take(state)
  if (token === 'NOT') {
    const inner = deeper(state, readOne)
    return (fields) => !inner(fields)
  }
  if (token === '(') {
    const inner = deeper(state, readAny)
    if (take(state) !== ')') throw new BadFilter('a parenthesis is not closed')
    return inner
  }
  const next = state.tokens[state.at]
  const isField = next !== undefined && /^(?::|[<>]=?)$/.test(next)
  if (!isField) return holds('message', textOf(token))
  if (!state.known.has(token)) throw new BadFilter(`the field "${token.slice(0, 50)}" is not known`)
  state.at++
  return next === ':' ? readValues(state, token) : comparison(token, next, Number(take(state)))
}

function deeper(state: State, read: (state: State) => Filter): Filter {
  if (++state.depth > MAX_DEPTH) throw new BadFilter('it is nested too deep')
  const inner = read(state)
  state.depth--
  return inner
}

function readValues(state: State, field: string): Filter {
  const first = take(state)
  if (first !== '(') return holds(field, textOf(first))
  const parts: Filter[] = []
  for (let token = take(state); token !== ')'; token = take(state))
    if (token !== 'OR') parts.push(holds(field, textOf(token)))
  return (fields) => parts.some((part) => part(fields))
}

function take(state: State): string {
  const token = state.tokens[state.at++]
  if (token === undefined) throw new BadFilter('it ends too early')
  return token
}

function textOf(token: string): string {
  if (/^(?:[():<>]|[<>]=|AND|OR)$/.test(token)) throw new BadFilter(`"${token}" is not expected here`)
  return token.startsWith('"') ? token.slice(1, -1).replaceAll(/\\(.)/gs, '$1') : token
}

/** A message has the text somewhere; another field is equal to it, or matches its stars. Case does not count. */
function holds(field: string, value: string): Filter {
  const lower = value.toLowerCase()
  if (lower.length > MAX_WORD) throw new BadFilter(`a word has more than ${MAX_WORD} characters`)
  const pieces = lower.split('*')
  return (fields) => {
    const own = String(fields[field] ?? '').toLowerCase()
    if (pieces.length > 1) return matchesStars(own, pieces)
    return field === 'message' ? own.includes(lower) : own === lower
  }
}

function matchesStars(text: string, pieces: readonly string[]): boolean {
  const [first, last] = [pieces[0]!, pieces.at(-1)!]
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  let at = first.length
  for (const piece of pieces.slice(1, -1)) {
    const found = text.indexOf(piece, at)
    if (found === -1) return false
    at = found + piece.length
  }
  return at <= text.length - last.length
}

function comparison(field: string, sign: string, than: number): Filter {
  if (!Number.isFinite(than)) throw new BadFilter(`"${field}" is compared with something that is not a number`)
  const holdsFor = (own: number) =>
    sign === '>' ? own > than : sign === '<' ? own < than : sign === '>=' ? own >= than : own <= than
  return (fields) => typeof fields[field] === 'number' && holdsFor(fields[field])
}
