/** Replaces values of secrets in text, also in base64 and URL form. A courtesy, not a wall: docs/runner.md: Masking. */

const MASK = '***'
/** Shorter values occur in every log by chance. */
const MIN_LENGTH = 6
const MAX_FORMS = 20_000

export type Masks = {
  /** The length of the longest form. */
  longest: number
  /** Returns the text with every form replaced. */
  mask(text: string): string
  /** Returns a position up to `at` that cuts no form in two. */
  cutBefore(text: string, at: number): number
}

/**
 * Builds the masks of these values. Values of less than 6 characters are not masked. Each line of a value is masked on its own. `max`: forms,
 * the values themselves first.
 */
export function createMasks(values: readonly string[], max = MAX_FORMS): Masks {
  const lines = values.flatMap((value) => [value, ...value.split(/\r?\n/)])
  const forms = [...new Set([...lines, ...lines.flatMap(formsOf)])]
    .filter((form) => form.length >= MIN_LENGTH && !form.includes('\n'))
    .slice(0, max)
    .sort((a, b) => b.length - a.length)
  if (forms.length === 0) return { longest: 0, mask: (text) => text, cutBefore: (_, at) => at }
  const pattern = new RegExp(forms.map((form) => RegExp.escape(form)).join('|'), 'g')
  return {
    longest: forms[0]!.length,
    mask: (text) => text.replace(pattern, MASK),
    cutBefore(text, at) {
      for (const { index, 0: form } of text.matchAll(pattern)) {
        if (index >= at) return at
        if (index + form.length > at) return index === 0 ? form.length : index
      }
      return at
    },
  }
}

/** The value, its URL forms, and its base64 at each of the three offsets within other text. */
function formsOf(value: string): string[] {
  if (value.length < MIN_LENGTH) return []
  const url = encodeUrl(value)
  const base64 = [0, 1, 2].map((offset) => base64At(value, offset))
  return [
    value,
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
  const text = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString('base64')
    .replace(/=+$/, '')
  const from = offset === 0 ? 0 : offset + 1
  const bits = (offset + bytes.length) * 8
  return text.slice(from, Math.floor(bits / 6))
}
