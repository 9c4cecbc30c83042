/** Domain names: canonical form, apex, and wildcards. docs/spec/reliability.md 2h; the Public Suffix List by tldts. */
import { domainToASCII, domainToUnicode } from 'node:url'
import { getDomain, getPublicSuffix } from 'tldts'
import { BadSetting, type Config, type DomainSettings } from '../config.ts'
import { Refusal, refuse } from '../platform/refusals/refusal.ts'

/** Characters that a URL parser drops, or does not read as part of the name. */
const NOT_IN_NAMES = /[\s\p{Cc}%/:@\\?#[\]]/u
/** Dots of IDNA, as East Asian keyboards write them (RFC 3490 3.1). */
const DOTS = /[。．｡]/g
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
const NUMBER = /^(\d+|0x[0-9a-f]*)$/
const LONGEST = 253
/** RFC 6761 and its successors: names outside the public DNS. */
const SPECIAL_USE = ['alt', 'arpa', 'example', 'internal', 'invalid', 'local', 'localhost', 'onion', 'test']

/**
 * Returns the canonical form of a name, for storage and comparison: lower case, IDNA as in URLs, no final dot. `*.` may be the first label. Refuses:
 * invalid_domain 400, with the reason.
 */
export function canonicalName(text: string, settings: DomainSettings): string {
  const no = (reason: string): never =>
    refuse('invalid_domain', `Cannot use the domain name "${text.slice(0, 100)}": ${reason}.`, {
      domain: text.slice(0, 300),
    })
  if (text.length > LONGEST + 1) no('it is longer than 253 characters')
  if (NOT_IN_NAMES.test(text)) no('write the name alone, without spaces, "/", ":", "@", "%" and the like')
  const plain = text.replace(DOTS, '.').normalize('NFC').toLowerCase().normalize('NFC').replace(/\.$/, '')
  const wildcard = plain.startsWith('*.')
  const host = wildcard ? plain.slice(2) : plain
  const ascii = domainToASCII(host)
  if (!readsBack(ascii, host)) no('it is not a valid internationalized name')
  const name = wildcard ? `*.${ascii}` : ascii
  const labels = ascii.split('.')
  if (labels.length < 2) no('it needs at least two labels, such as example.com')
  if (NUMBER.test(labels.at(-1)!)) no('an IP address or a name that ends in a number is not a domain')
  if (!labels.every((label) => LABEL.test(label)))
    no('each label is 1 to 63 letters, digits or "-", and neither begins nor ends with "-"')
  if (name.length > LONGEST) no('it is longer than 253 characters')
  const top = labels.at(-1)!
  if (SPECIAL_USE.includes(top) && !settings.specialUse.includes(top) && !isUnderSuffix(ascii, settings))
    no(`".${top}" is reserved for special use, and the operator has not allowed it (BERTH_SPECIAL_USE_DOMAINS)`)
  if (getDomain(ascii, { allowPrivateDomains: true }) === null)
    no('it is a public suffix, under which others register names')
  return name
}

/** Returns the canonical name for a lookup. An invalid name does not exist. Refuses: not_found 404. */
export function nameToFind(text: string, settings: DomainSettings): string {
  try {
    return canonicalName(text, settings)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    refuse('not_found', `There is no domain "${text.slice(0, 100)}".`)
  }
}

/** Returns the host name of a text, which may be a URL or have a port, in lower case and in canonical form. */
export function hostsSaid(text: string, settings: DomainSettings): string[] {
  const host = text
    .replace(/^https?:\/\//i, '')
    .replace(/[/?#].*/s, '')
    .replace(/:\d{1,5}$/, '')
    .toLowerCase()
  try {
    return [...new Set([host, canonicalName(host, settings)])]
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return [host]
  }
}

/** Returns the apex of a canonical name: the name directly under the public suffix. It has the challenge of all names below it. */
export function apexOf(name: string): string {
  return getDomain(hostOf(name), { allowPrivateDomains: true })!
}

/** Returns whether `name` is below `parent`, at any depth. */
export function isUnder(name: string, parent: string): boolean {
  return name.endsWith(`.${parent}`)
}

/** Returns the wildcards that cover a name: `*.b.c.d` and `*.c.d` for `a.b.c.d`; `*.c.d` for `*.b.c.d`. */
export function wildcardsOver(name: string): string[] {
  const labels = hostOf(name).split('.')
  const parents = labels.slice(1, -1).map((_, at) => labels.slice(at + 1).join('.'))
  return parents.map((parent) => `*.${parent}`)
}

/** Returns whether a name is a wildcard, such as `*.example.com`. */
export function isWildcard(name: string): boolean {
  return name.startsWith('*.')
}

/** Returns `example.com` for `*.example.com`. */
export function hostOf(name: string): string {
  return isWildcard(name) ? name.slice(2) : name
}

/** Returns whether a name is one label under the platform suffix: the first account that adds it has it. */
export function isPlatformName(name: string, { platformSuffix }: Pick<DomainSettings, 'platformSuffix'>): boolean {
  if (platformSuffix === undefined || isWildcard(name) || !isUnder(name, platformSuffix)) return false
  return !name.slice(0, -platformSuffix.length - 1).includes('.')
}

/**
 * Whether the name survives URL parsing unchanged, so that no two names become equal through characters that vanish or change (soft hyphens,
 * full-width letters).
 */
function readsBack(ascii: string, host: string): boolean {
  const unicode = domainToUnicode(ascii)
  if (host !== ascii && host !== unicode) return false
  // A label with an invalid punycode stays as it is.
  return domainToASCII(unicode) === ascii && !unicode.split('.').some((label) => label.startsWith('xn--'))
}

/**
 * Checks that the operator owns the platform suffix, because names directly under it need no verification. A registry suffix is invalid; a platform of
 * the Public Suffix List (`github.io`) needs an edge name under it. Throws BadSetting.
 */
export function mustOwnSuffix({ platformSuffix, edgeCname }: DomainSettings): void {
  if (platformSuffix === undefined || SPECIAL_USE.includes(platformSuffix)) return
  if (getPublicSuffix(platformSuffix) === platformSuffix)
    throw new BadSetting(
      `BERTH_PLATFORM_SUFFIX is "${platformSuffix}", a public suffix: set a domain of your own, such as apps.example.com`,
    )
  const isOthers = getPublicSuffix(platformSuffix, { allowPrivateDomains: true }) === platformSuffix
  if (isOthers && !isUnder(edgeCname ?? '', platformSuffix))
    throw new BadSetting(
      `BERTH_PLATFORM_SUFFIX is "${platformSuffix}", which the Public Suffix List has as a shared platform: set a domain of your own or, if it is yours, BERTH_EDGE_CNAME to the name of your edge under it`,
    )
}

/**
 * Returns what is wrong where sites below the platform suffix share a registrable domain with the API: their scripts can set cookies of it. Undefined
 * where they do not, and where the operator accepts it.
 */
export function sharedDomainProblem({ domains, publicUrl }: Pick<Config, 'domains' | 'publicUrl'>): string | undefined {
  const { platformSuffix, sharesDomain } = domains
  if (platformSuffix === undefined || publicUrl === undefined || sharesDomain) return undefined
  const registrable = (name: string) => getDomain(name, { allowPrivateDomains: true })
  const own = registrable(new URL(publicUrl).hostname)
  if (own === null || own !== registrable(`site.${platformSuffix}`)) return undefined
  return `sites below ${platformSuffix} share the domain ${own} with BERTH_PUBLIC_URL: their scripts can set its cookies`
}

export const SHARED_DOMAIN_ADVICE =
  'set BERTH_PLATFORM_SUFFIX to another domain, enter it in the Public Suffix List, or set BERTH_PLATFORM_SUFFIX_SHARED=1 if you trust all who deploy'

function isUnderSuffix(name: string, { platformSuffix }: DomainSettings): boolean {
  return platformSuffix !== undefined && isUnder(name, platformSuffix)
}
