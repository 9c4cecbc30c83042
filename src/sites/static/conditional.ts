/** Conditional requests (RFC 9110 13). docs/deploying-sites.md: Static files. */

export type RequestHeaders = ReadonlyMap<string, string>

/**
 * Validators of the content. `tags`: entity tags of the accepted forms, that of the form to send first. `lastModified` in ms must
 * follow the content; a deployment date does not, because a rollback sets it back.
 */
export type Validators = { tags: readonly string[]; lastModified?: number | undefined }

export type Preconditions = { outcome: 'met' | 'failed' } | { outcome: 'not_modified'; tag: string }

/** Evaluates the preconditions of a GET or HEAD in the order of RFC 9110 13.2.2, except `If-Range`. */
export function checkPreconditions(headers: RequestHeaders, validators: Validators): Preconditions {
  if (!isExpected(headers, validators)) return { outcome: 'failed' }
  const tag = tagThatVisitorHas(headers, validators)
  return tag === undefined ? { outcome: 'met' } : { outcome: 'not_modified', tag }
}

/** Returns whether a range applies: `If-Range` is absent, or matches the form to send (RFC 9110 13.1.5). */
export function rangeApplies(ifRange: string | undefined, tag: string, lastModified?: number): boolean {
  if (ifRange === undefined) return true
  const validator = ifRange.trim()
  if (validator.includes('"')) return validator === tag && isStrong(tag)
  return lastModified !== undefined && parseHttpDate(validator) === inSeconds(lastModified)
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

/** Returns the tags of a list. A tag may contain commas, so the list is not split. Text between tags is ignored. */
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

/** TABLE date formats (RFC 9110 5.6.7): the current one, RFC 850, and asctime, which has no time zone. */
const DATES: readonly (readonly [form: RegExp, zone: string])[] = [
  [/^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/, ''],
  [/^\w{6,9}, \d{2}-\w{3}-\d{2} \d{2}:\d{2}:\d{2} GMT$/, ''],
  [/^\w{3} \w{3} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/, ' GMT'],
]

/** Returns a date in ms, or undefined for an invalid one, which is ignored (RFC 9110 13.1.3 and 13.1.4). */
function parseHttpDate(text: string | undefined): number | undefined {
  const header = text?.trim() ?? ''
  const zone = DATES.find(([form]) => form.test(header))?.[1]
  const ms = zone === undefined ? Number.NaN : Date.parse(header + zone)
  return Number.isNaN(ms) ? undefined : ms
}
