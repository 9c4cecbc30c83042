/** Domain names: one canonical form, the apex, and which names cover which. docs/spec/reliability.md 2h; the Public Suffix List by tldts. */
import { domainToASCII, domainToUnicode } from 'node:url'
import { getDomain, getPublicSuffix } from 'tldts'
import { BadSetting, type DomainSettings } from '../config.ts'
import { Refusal, refuse } from '../platform/refusals/refusal.ts'

/** What a URL parser would read as something other than a part of the name, or drop. */
const NOT_IN_NAMES = /[\s\p{Cc}%/:@\\?#[\]]/u
/** What IDNA takes for a dot, as East Asian keyboards write it (RFC 3490 3.1). */
const DOTS = /[。．｡]/g
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
const NUMBER = /^(\d+|0x[0-9a-f]*)$/
const LONGEST = 253
/** RFC 6761 and its successors: names that mean something else than a place in the public DNS. */
const SPECIAL_USE = ['alt', 'arpa', 'example', 'internal', 'invalid', 'local', 'localhost', 'onion', 'test']

/**
 * The one form in which a name is stored and compared, for bodies and paths alike: lower case, IDNA as in URLs, no final
 * dot. `*.` may be the first label. Refuses: invalid_domain 400, with the reason.
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

/** As `canonicalName`, where a domain is looked up: what cannot be a domain is none that is there. Refuses: not_found 404. */
export function nameToFind(text: string, settings: DomainSettings): string {
  try {
    return canonicalName(text, settings)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    refuse('not_found', `There is no domain "${text.slice(0, 100)}".`)
  }
}

/** The host name that a text says, which may be a URL, or have a port: as it is written in lower case, and the form in which domains are stored. */
export function hostsSaid(text: string, settings: DomainSettings): string[] {
  const host = text
    .replace(/^https?:\/\//i, '')
    .replace(/[/?#].*$/s, '')
    .replace(/:\d{1,5}$/, '')
    .toLowerCase()
  try {
    return [...new Set([host, canonicalName(host, settings)])]
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return [host]
  }
}

/** The name directly under the public suffix: where the challenge of all names below it lives. Takes a canonical name. */
export function apexOf(name: string): string {
  return getDomain(hostOf(name), { allowPrivateDomains: true })!
}

/** Whether `name` lies below `parent`, at any depth. */
export function isUnder(name: string, parent: string): boolean {
  return name.endsWith(`.${parent}`)
}

/** The wildcards that cover this name: `*.b.c.d` and `*.c.d` for `a.b.c.d`; `*.c.d` for `*.b.c.d`. */
export function wildcardsOver(name: string): string[] {
  const labels = hostOf(name).split('.')
  const parents = labels.slice(1, -1).map((_, at) => labels.slice(at + 1).join('.'))
  return parents.map((parent) => `*.${parent}`)
}

/** Whether a name covers all names one label below another: `*.example.com`. */
export function isWildcard(name: string): boolean {
  return name.startsWith('*.')
}

/** `*.example.com` -> `example.com`. */
export function hostOf(name: string): string {
  return isWildcard(name) ? name.slice(2) : name
}

/** One label under the platform's suffix: free to whoever comes first. */
export function isPlatformName(name: string, { platformSuffix }: Pick<DomainSettings, 'platformSuffix'>): boolean {
  if (platformSuffix === undefined || isWildcard(name) || !isUnder(name, platformSuffix)) return false
  return !name.slice(0, -platformSuffix.length - 1).includes('.')
}

/**
 * True when the name that URL parsers make of it reads back as it was written, so that no two names meet in one by way of
 * characters that vanish or change (soft hyphens, full-width letters).
 */
function readsBack(ascii: string, host: string): boolean {
  const unicode = domainToUnicode(ascii)
  if (host !== ascii && host !== unicode) return false
  // A label that claims to be punycode and decodes to nothing stays as it is.
  return domainToASCII(unicode) === ascii && !unicode.split('.').some((label) => label.startsWith('xn--'))
}

/**
 * A name right under the platform's suffix needs no proof, so the suffix must be the operator's: not one under which registries
 * sell names, and a platform that the Public Suffix List knows (`github.io`) only where the edge has a name under it. Throws BadSetting.
 */
export function mustOwnSuffix({ platformSuffix, edgeCname }: DomainSettings): void {
  if (platformSuffix === undefined || SPECIAL_USE.includes(platformSuffix)) return
  if (getPublicSuffix(platformSuffix) === platformSuffix)
    throw new BadSetting(
      `BERTH_PLATFORM_SUFFIX is "${platformSuffix}", under which everybody registers names: set a domain of your own, such as apps.example.com`,
    )
  const isOthers = getPublicSuffix(platformSuffix, { allowPrivateDomains: true }) === platformSuffix
  if (isOthers && !isUnder(edgeCname ?? '', platformSuffix))
    throw new BadSetting(
      `BERTH_PLATFORM_SUFFIX is "${platformSuffix}", which the Public Suffix List knows as somebody's platform: set a domain of your own or, if it is yours, BERTH_EDGE_CNAME to the name of your edge under it`,
    )
}

function isUnderSuffix(name: string, { platformSuffix }: DomainSettings): boolean {
  return platformSuffix !== undefined && isUnder(name, platformSuffix)
}
