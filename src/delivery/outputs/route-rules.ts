/** Compiles the routes of config.json into the rules of the routing manifest. */
import { mapInSlices } from '../../platform/base/event-loop.ts'
import { canChange, HEADER_NAME, inLowerCase, MESSAGE_HEADERS } from '../protocol/message-headers.ts'
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'
import {
  type Header,
  type Match,
  PHASES,
  type Phase,
  type Route,
  type Transform,
} from '../protocol/routing-manifest.ts'
import { conditionsOf, matchOf } from './conditions.ts'
import {
  choiceOf,
  defined,
  entriesOf,
  type Field,
  flagOf,
  integerOf,
  isObject,
  itemsOf,
  member,
  refuseField,
  required,
  textOf,
  textsOf,
} from './fields.ts'
import type { NoticeList } from './notices.ts'
import { sourceOf } from './patterns.ts'

const TEXT = { max: OUTPUT_LIMITS.pattern }
const NAME = { min: 1, max: 256 }
const NAME_OF_HEADER = { max: 256, form: [HEADER_NAME, 'is not a header name.'] } as const
const HEADER_VALUE = {
  max: OUTPUT_LIMITS.headerValue,
  form: [/^[^\x00-\x08\x0a-\x1f\x7f]*$/, 'has a line break or another control character.'],
} as const

/** Compiles the routes by phase. A `handle` starts a phase, and may repeat. */
export async function phasesOf(field: Field, notices: NoticeList): Promise<Record<Phase, Route[]>> {
  const phases = Object.fromEntries(PHASES.map((phase) => [phase, [] as Route[]])) as Record<Phase, Route[]>
  let phase: Phase = 'none'
  const items = [...(itemsOf(field, OUTPUT_LIMITS.routes) ?? []).entries()]
  await mapInSlices(items, ([rule, item]) => {
    if (!required(item, (value) => isObject(value) || undefined)) return
    const handle = member(item, 'handle')
    if (handle.value !== undefined) {
      phase = choiceOf(handle, PHASES.slice(1)) ?? phase
      return
    }
    const route = routeOf(item, rule, phase, notices)
    if (route !== undefined) phases[phase].push(route)
  })
  const names = Object.values(phases)
    .flat()
    .reduce((sum, route) => sum + namesIn(route), 0)
  const max = OUTPUT_LIMITS.transformNames
  if (names > max) refuseField(field, `has ${names} names in its transforms. At most ${max} are allowed.`)
  return phases
}

function namesIn({ transforms = [] }: Route): number {
  return transforms.reduce(
    (sum, { match }) => sum + Math.max(1, (match.inc ?? []).length + (match.ninc ?? []).length),
    0,
  )
}

function routeOf(field: Field, rule: number, phase: Phase, notices: NoticeList): Route | undefined {
  const source = required(aliasOf(field, 'src', 'source'), sourceOf)
  refuseMisplaced(field, phase)
  const route = {
    rule,
    source: source ?? '',
    ...flags(field),
    ...defined({
      methods: methodsOf(member(field, 'methods')),
      has: conditionsOf(member(field, 'has')),
      missing: conditionsOf(member(field, 'missing')),
      dest: destinationOf(field),
      headers: headersOf(member(field, 'headers'), notices),
      status: integerOf(aliasOf(field, 'status', 'statusCode'), 200, 599),
      transforms: transformsOf(member(field, 'transforms'), notices),
      locale: localeOf(member(field, 'locale')),
      middleware: middlewareOf(member(field, 'middlewarePath'), phase),
      mitigate: mitigationOf(member(field, 'mitigate'), notices),
    }),
  }
  if (member(field, 'env').value !== undefined) notices.add('variables_ignored', `${field.name}.env`)
  return source === undefined ? undefined : route
}

/** `source`, `destination` and `statusCode` are aliases of `src`, `dest` and `status`. */
function aliasOf(field: Field, key: string, alias: string): Field {
  const [first, second] = [member(field, key), member(field, alias)]
  if (first.value !== undefined && second.value !== undefined)
    refuseField(second, `and ${key} are the same. Remove one.`)
  return first.value === undefined && second.value !== undefined ? second : first
}

function refuseMisplaced(field: Field, phase: Phase): void {
  if (phase !== 'hit') return
  for (const key of ['dest', 'destination', 'status', 'statusCode', 'check']) {
    const misplaced = member(field, key)
    if (misplaced.value !== undefined) {
      refuseField(misplaced, 'is after "handle": "hit". Rules there set headers and transforms. Move it before.')
    }
  }
}

function flags(field: Field) {
  const names = ['caseSensitive', 'continue', 'override', 'check', 'important'] as const
  return Object.fromEntries(names.filter((name) => flagOf(member(field, name))).map((name) => [name, true]))
}

function methodsOf(field: Field): string[] | undefined {
  return textsOf(field, 32, { min: 1, max: 32 })?.map((method) => method.toUpperCase())
}

function destinationOf(field: Field): string | undefined {
  const dest = aliasOf(field, 'dest', 'destination')
  if (typeof dest.value === 'object')
    return refuseField(dest, 'names a service. Services are not available: give a path or a URL.')
  return textOf(dest, TEXT)
}

/** Returns the headers of an object by lower-case name. Omits message headers with a notice. */
export function headersOf(field: Field, notices: NoticeList): Header[] | undefined {
  return entriesOf(field, OUTPUT_LIMITS.headers)?.flatMap(([key, entry]) => {
    const name = textOf({ ...entry, value: key }, NAME_OF_HEADER)?.toLowerCase()
    const value = required(entry, (text) => textOf(text, HEADER_VALUE))
    if (name === undefined || value === undefined) return []
    if (!MESSAGE_HEADERS.has(name)) return [{ name, value }]
    notices.add('header_ignored', entry.name)
    return []
  })
}

function transformsOf(field: Field, notices: NoticeList): Transform[] | undefined {
  return itemsOf(field, OUTPUT_LIMITS.transforms)?.flatMap((item) => transformOf(item, notices) ?? [])
}

function transformOf(field: Field, notices: NoticeList): Transform | undefined {
  if (!required(field, (value) => isObject(value) || undefined)) return undefined
  const types = ['request.headers', 'request.query', 'request.path', 'response.headers'] as const
  const target = required(member(field, 'type'), (value) => choiceOf(value, types))
  const op = required(member(field, 'op'), (value) => choiceOf(value, ['append', 'set', 'delete']))
  const argument = member(field, 'args')
  const args =
    typeof argument.value === 'string' ? listOf(textOf(argument, TEXT)) : textsOf(argument, 64, TEXT, 'a string or ')
  if (op !== undefined && op !== 'delete' && args === undefined) required(argument, () => undefined)
  if (member(field, 'env').value !== undefined) notices.add('variables_ignored', `${field.name}.env`)
  const match = target === 'request.path' ? {} : targetOf(member(field, 'target'), target)
  if (target === undefined || op === undefined || match === undefined) return undefined
  const changed = target.endsWith('headers') ? changeable(match) : match
  if (changed !== match) notices.add('header_ignored', `${field.name}.target.key`)
  return changed && { target, op, match: changed, args: args ?? [] }
}

/** Removes names of headers that the server controls from a match. Returns undefined if no name is left. */
function changeable(match: Match): Match | undefined {
  const { eq, inc } = match
  if (eq !== undefined && !canChange(String(eq))) return undefined
  const others = inc?.filter(canChange)
  if (others?.length === inc?.length) return match
  return others!.length === 0 ? undefined : { ...match, inc: others! }
}

function listOf(text: string | undefined): string[] | undefined {
  return text === undefined ? undefined : [text]
}

function targetOf(field: Field, target: Transform['target'] | undefined): Match | undefined {
  if (!required(field, (value) => isObject(value) || undefined)) return undefined
  const key = member(field, 'key')
  const isHeader = target !== 'request.query'
  if (typeof key.value !== 'string') {
    const match = required(key, (value) => matchOf(value, false))
    return match && isHeader ? headerMatchOf(key, match) : match
  }
  const name = textOf(key, isHeader ? NAME_OF_HEADER : NAME)
  return name === undefined ? undefined : { eq: isHeader ? name.toLowerCase() : name }
}

/** An exact name must be a valid header name. */
function headerMatchOf(key: Field, match: Match): Match | undefined {
  const eq = member(key, 'eq')
  const named = [
    ...(match.eq === undefined ? [] : [textOf({ ...eq, value: String(match.eq) }, NAME_OF_HEADER)]),
    ...(match.inc === undefined ? [] : (textsOf(member(key, 'inc'), match.inc.length, NAME_OF_HEADER) ?? [])),
  ]
  const conditions = (match.eq === undefined ? 0 : 1) + (match.inc?.length ?? 0)
  return named.filter((name) => name !== undefined).length === conditions ? inLowerCase(match) : undefined
}

function localeOf(field: Field): Route['locale'] {
  if (!isObject(field)) return undefined
  const cookie = textOf(member(field, 'cookie'), NAME)
  const entries = entriesOf(member(field, 'redirect'), 1000) ?? []
  const redirects = entries.flatMap(([locale, entry]) => {
    const to = textOf(entry, TEXT)
    return to === undefined ? [] : [{ locale: locale.toLowerCase(), to }]
  })
  return { redirects, ...(cookie !== undefined && { cookie }) }
}

function middlewareOf(field: Field, phase: Phase): string | undefined {
  const name = textOf(field, { min: 1, max: OUTPUT_LIMITS.path })
  if (name === undefined || phase === 'none') return name
  return refuseField(field, `is after "handle": "${phase}". Middleware runs before the first "handle". Move it there.`)
}

function mitigationOf(field: Field, notices: NoticeList): Route['mitigate'] {
  if (!isObject(field)) return undefined
  const action = required(member(field, 'action'), (value) => choiceOf(value, ['challenge', 'deny']))
  if (action === 'challenge') notices.add('challenge_denies', `${field.name}.action`)
  return action
}
