/** Which major version of Node.js a range of `engines` allows, decided as the builder does. docs/runner.md: Project file. */

/** Versions as numbers that sort: those from `from` on, below `until`. */
type Interval = { from: number; until: number }

const ALL: Interval = { from: 0, until: Number.POSITIVE_INFINITY }
/** More than any part of a version. */
const PART = 100_000
const VERSION = /^v?(\d{1,5}|[xX*])(?:\.(\d{1,5}|[xX*]))?(?:\.(\d{1,5}|[xX*]))?(?:[-+][\w.+-]+)?$/
const COMPARATOR = /^(>=|<=|>|<|\^|~>?|=)?(.+)$/
/** A space behind an operator. */
const GAP = /(>=|<=|>|<|\^|~>?|=) /g

/** Returns the first of these majors of which a range allows some version. Undefined: none, or the text is not a range. Pure. */
export function firstAllowed<M extends number>(range: string, majors: readonly M[]): M | undefined {
  const alternatives = range.split('||').map((text) => intervalOf(text.trim().replaceAll(/\s+/g, ' ')))
  if (alternatives.includes(undefined)) return undefined
  return majors.find((major) => {
    const [from, until] = [numberOf([major]), numberOf([major + 1])]
    return alternatives.some((one) => Math.max(one!.from, from) < Math.min(one!.until, until))
  })
}

/** Comparators next to each other must all hold. */
function intervalOf(text: string): Interval | undefined {
  const [first = '', last] = text.split(' - ')
  if (last !== undefined) {
    const [from, until] = [versionOf(first), versionOf(last)]
    return from && until && { from: from.from, until: until.until }
  }
  const comparators = text.replace(GAP, '$1').split(' ').filter(Boolean).map(comparatorOf)
  if (comparators.includes(undefined)) return undefined
  return comparators.reduce<Interval>(
    (all, one) => ({ from: Math.max(all.from, one!.from), until: Math.min(all.until, one!.until) }),
    ALL,
  )
}

function comparatorOf(text: string): Interval | undefined {
  const [, operator = '=', version = ''] = COMPARATOR.exec(text) ?? []
  const named = versionOf(version)
  if (named === undefined) return undefined
  const { from, until, parts } = named
  if (operator === '>=') return { ...ALL, from }
  if (operator === '>') return { ...ALL, from: until }
  if (operator === '<') return { ...ALL, until: from }
  if (operator === '<=') return { ...ALL, until }
  if (operator === '=' || parts.length === 0) return { from, until }
  return { from, until: next(parts.slice(0, operator === '^' ? 1 : 2)) }
}

/** A version, or all that begin with its parts. */
function versionOf(text: string): (Interval & { parts: number[] }) | undefined {
  const [matches, ...named] = VERSION.exec(text) ?? []
  if (matches === undefined) return undefined
  const end = named.findIndex((part) => part === undefined || /[xX*]/.test(part))
  const parts = named.slice(0, end === -1 ? undefined : end).map(Number)
  return parts.length === 0 ? { ...ALL, parts } : { from: numberOf(parts), until: next(parts), parts }
}

function next(parts: readonly number[]): number {
  return numberOf([...parts.slice(0, -1), parts.at(-1)! + 1])
}

function numberOf([major = 0, minor = 0, patch = 0]: readonly number[]): number {
  return (major * PART + minor) * PART + patch
}
