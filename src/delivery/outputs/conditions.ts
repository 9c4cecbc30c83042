import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'
import type { Condition, Match } from '../protocol/routing-manifest.ts'
import {
  choiceOf,
  entriesOf,
  type Field,
  isObject,
  itemsOf,
  member,
  refuseField,
  required,
  textOf,
  textsOf,
} from './fields.ts'
import { valuePatternOf } from './patterns.ts'

const TEXT = { max: OUTPUT_LIMITS.pattern }
const COMPARISONS = 11

/** Returns the conditions of a list, or undefined. */
export function conditionsOf(field: Field): Condition[] | undefined {
  return itemsOf(field, OUTPUT_LIMITS.conditions)?.flatMap((item) => conditionOf(item) ?? [])
}

function conditionOf(field: Field): Condition | undefined {
  if (!required(field, (value) => isObject(value) || undefined)) return undefined
  const type = required(member(field, 'type'), (value) => choiceOf(value, ['host', 'header', 'cookie', 'query']))
  const keyField = member(field, 'key')
  const key = type === 'host' ? '' : required(keyField, (value) => textOf(value, TEXT))
  const value = member(field, 'value')
  const match = value.value === undefined ? undefined : matchOf(value, true)
  if (type === 'host' && match === undefined) return required(value, () => undefined)
  if (type === undefined || key === undefined) return undefined
  return { type, key: type === 'header' ? key.toLowerCase() : key, ...(match && { match }) }
}

/** Returns a required value: a pattern, or an object of comparisons. A `target` of a transform is a plain name instead of a pattern. */
export function matchOf(field: Field, patterns: boolean): Match | undefined {
  if (typeof field.value === 'string') {
    const text = patterns ? valuePatternOf(field) : textOf(field, TEXT)
    return text === undefined ? undefined : { [patterns ? 'pattern' : 'eq']: text }
  }
  if (!isObject(field, 'a string or an object')) return undefined
  const entries = entriesOf(field, COMPARISONS)
  if (entries?.length === 0) return refuseField(field, 'compares with nothing.')
  const match = (entries ?? []).flatMap(([key]) => {
    const value = comparisonOf(member(field, key), key, patterns)
    return value === undefined ? [] : [[key === 're' ? 'pattern' : key, value]]
  })
  return match.length > 0 ? (Object.fromEntries(match) as Match) : undefined
}

function comparisonOf(field: Field, key: string, patterns: boolean): unknown {
  switch (key) {
    case 'eq':
      return typeof field.value === 'number' ? field.value : textOf(field, TEXT)
    case 'neq':
    case 'pre':
    case 'suf':
      return textOf(field, TEXT)
    case 'inc':
    case 'ninc':
      return textsOf(field, 1000, TEXT)
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return typeof field.value === 'number' ? field.value : refuseField(field, 'must be a number.')
    case 're':
      return patterns ? valuePatternOf(field) : refuseField(field, 'is not available here.')
    default:
      return refuseField(
        field,
        'is not a comparison. Use one of eq, neq, inc, ninc, pre, suf, re, gt, gte, lt and lte.',
      )
  }
}
