/** Replaces values of secrets in text, also in base64 and URL form. A courtesy, not a wall: docs/runner.md: Masking. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { withoutTrailing } from '../base/text.ts'
import { searchSteps } from './text-search.ts'

const MASK = '***'
/** Shorter values occur in every log by chance. */
const MIN_LENGTH = 6
/** A longer form is searched in pieces of this length. */
const PIECE = 256
/** Characters of all forms, which the search holds in memory. The values themselves may have 64 KiB. */
const MAX_CHARACTERS = 128 * 1024
const FORMS_A_STEP = 64
/** Others have a turn after this time. */
const TURN_MS = 5

export type Masks = {
  /** The greatest length of what is searched at once. */
  longest: number
  /** Returns the text with every form replaced. */
  mask(text: string): string
  /** Returns a position up to `at` that cuts no form in two. Where the text begins with one that goes on beyond `at`: its end. */
  cutBefore(text: string, at: number): number
}

/**
 * Builds the masks of these values. Values of less than 6 characters are not masked. Each line of a value is masked on its own. Building and
 * masking take linear time, because a tenant chooses both values and text. Forms above the limit are left out, the values themselves last.
 */
export function createMasks(values: readonly string[]): Masks {
  const steps = maskSteps(values)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** As `createMasks`, in turns with other work: the greatest take some 100 ms. */
export async function createMasksInTurns(values: readonly string[]): Promise<Masks> {
  const steps = maskSteps(values)
  for (let since = performance.now(); ; ) {
    const { done, value } = steps.next()
    if (done) return value
    if (performance.now() - since < TURN_MS) continue
    await nextTurn()
    since = performance.now()
  }
}

/** Builds the masks in short steps. */
export function* maskSteps(values: readonly string[]): Generator<void, Masks> {
  const pieces = yield* piecesIn([...new Set(values.flatMap((value) => [value, ...value.split(/\r?\n/)]))])
  if (pieces.size === 0) return { longest: 0, mask: (text) => text, cutBefore: (_, at) => at }
  const search = yield* searchSteps([...pieces])
  const longest = [...pieces].reduce((max, { length }) => Math.max(max, length), 0)
  return {
    longest,
    mask(text) {
      let [masked, from] = ['', 0]
      for (const { start, end } of search(text)) {
        masked += text.slice(from, start) + MASK
        from = end
      }
      return masked + text.slice(from)
    },
    cutBefore(text, at) {
      const cut = search(text.slice(0, at + longest)).find(({ start, end }) => start < at && end > at)
      if (cut === undefined) return at
      return cut.start === 0 ? cut.end : cut.start
    },
  }
}

function* piecesIn(lines: readonly string[]): Generator<void, Set<string>> {
  const pieces = new Set<string>()
  let [characters, forms] = [0, 0]
  for (const form of formsIn(lines)) {
    if (++forms % FORMS_A_STEP === 0) yield
    if (form.length < MIN_LENGTH || form.includes('\n')) continue
    for (const piece of piecesOf(form)) {
      if (pieces.has(piece)) continue
      characters += piece.length
      if (characters > MAX_CHARACTERS) return pieces
      pieces.add(piece)
    }
  }
  return pieces
}

/** The values before what is made of them, and of those the short ones first: what is above the limit is left out. */
function* formsIn(lines: readonly string[]): Generator<string> {
  yield* lines
  for (const line of lines.toSorted((a, b) => a.length - b.length)) yield* formsOf(line)
}

/** The last piece overlaps the one before, so that none is short. */
function piecesOf(form: string): string[] {
  if (form.length <= PIECE) return [form]
  const pieces: string[] = []
  for (let at = 0; at < form.length; at += PIECE) {
    const from = Math.min(at, form.length - PIECE)
    pieces.push(form.slice(from, from + PIECE))
  }
  return pieces
}

/** Its URL forms, and its base64 at each of the three offsets within other text. */
function formsOf(value: string): string[] {
  if (value.length < MIN_LENGTH) return []
  const url = encodeUrl(value)
  const base64 = [0, 1, 2].map((offset) => base64At(value, offset))
  return [
    url,
    url.replaceAll('%20', '+'),
    JSON.stringify(value).slice(1, -1),
    ...base64,
    ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
  ]
}

function encodeUrl(value: string): string {
  return encodeURIComponent(value.toWellFormed())
}

/** The characters that depend on the value alone: those at the ends also depend on what is next to it. */
function base64At(value: string, offset: number): string {
  const bytes = Buffer.from(value)
  const text = withoutTrailing(Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64'), '=')
  const from = offset === 0 ? 0 : offset + 1
  const bits = (offset + bytes.length) * 8
  return text.slice(from, Math.floor(bits / 6))
}
