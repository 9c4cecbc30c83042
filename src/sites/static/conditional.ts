/** Conditional requests (RFC 9110 13). docs/deploying-sites.md: Static files. */

/** Headers of a request by lower-case name. */
export type RequestHeaders = ReadonlyMap<string, string>

/**
 * What tells one content from another. `tags`: the entity tags of the forms that the visitor accepts, that of the form which would be
 * sent first. `lastModified` in ms; it must follow the content: the date of a deployment does not, because a rollback goes back in time.
 */
export type Validators = { tags: readonly string[]; lastModified?: number | undefined }

/** `not_modified` names the tag of what the visitor has. */
export type Preconditions = { outcome: 'met' | 'failed' } | { outcome: 'not_modified'; tag: string }

/** Evaluates the preconditions of a GET or HEAD in the order of RFC 9110 13.2.2. `If-Range` has a function of its own. */
export function checkPreconditions(headers: RequestHeaders, validators: Validators): Preconditions {
  if (!isExpected(headers, validators)) return { outcome: 'failed' }
  const tag = tagThatVisitorHas(headers, validators)
  return tag === undefined ? { outcome: 'met' } : { outcome: 'not_modified', tag }
}

/** Whether a range counts: `If-Range` is absent, or names exactly what would be sent (RFC 9110 13.1.5). */
export function rangeApplies(ifRange: string | undefined, tag: string, lastModified?: number): boolean {
  if (ifRange === undefined) return true
  const given = ifRange.trim()
  if (given.includes('"')) return given === tag && isStrong(tag)
  return lastModified !== undefined && parseHttpDate(given) === inSeconds(lastModified)
}

/** `If-Match`, else `If-Unmodified-Since`. The comparison is strong (RFC 9110 13.1.1). */
function isExpected(headers: RequestHeaders, { tags, lastModified }: Validators): boolean {
  const ifMatch = headers.get('if-match')
  if (ifMatch !== undefined) {
    const listed = listedTags(ifMatch)
    return isAny(ifMatch) || tags.some((tag) => isStrong(tag) && listed.includes(tag))
  }
  const since = parseHttpDate(headers.get('if-unmodified-since'))
  return since === undefined || lastModified === undefined || inSeconds(lastModified) <= since
}

/** `If-None-Match`, else `If-Modified-Since`. The comparison is weak (RFC 9110 13.1.2). */
function tagThatVisitorHas(headers: RequestHeaders, { tags, lastModified }: Validators): string | undefined {
  const ifNoneMatch = headers.get('if-none-match')
  if (ifNoneMatch !== undefined) {
    if (isAny(ifNoneMatch)) return tags[0]
    const listed = listedTags(ifNoneMatch).map(opaqueOf)
    return tags.find((tag) => listed.includes(opaqueOf(tag)))
  }
  const since = parseHttpDate(headers.get('if-modified-since'))
  const isOld = since !== undefined && lastModified !== undefined && inSeconds(lastModified) <= since
  return isOld ? tags[0] : undefined
}

function isAny(list: string): boolean {
  return list.trim() === '*'
}

/** The tags of a list. A tag may hold commas, so the list is not split at them. What is between tags is passed over. */
function listedTags(list: string): string[] {
  return [...list.matchAll(/(?:W\/)?"[^"]*"/g)].map(([tag]) => tag)
}

function isStrong(tag: string): boolean {
  return !tag.startsWith('W/')
}

function opaqueOf(tag: string): string {
  return isStrong(tag) ? tag : tag.slice(2)
}

function inSeconds(ms: number): number {
  return Math.floor(ms / 1000) * 1000
}

/** TABLE the forms of a date (RFC 9110 5.6.7): today's, that of RFC 850, and that of asctime, which names no zone. */
const DATES: readonly (readonly [form: RegExp, zone: string])[] = [
  [/^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/, ''],
  [/^\w{6,9}, \d{2}-\w{3}-\d{2} \d{2}:\d{2}:\d{2} GMT$/, ''],
  [/^\w{3} \w{3} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/, ' GMT'],
]

/** A date in ms; undefined for what is none, which is ignored (RFC 9110 13.1.3 and 13.1.4). */
function parseHttpDate(text: string | undefined): number | undefined {
  const given = text?.trim() ?? ''
  const zone = DATES.find(([form]) => form.test(given))?.[1]
  const ms = zone === undefined ? Number.NaN : Date.parse(given + zone)
  return Number.isNaN(ms) ? undefined : ms
}
