import type { Route } from '../../delivery/protocol/routing-manifest.ts'
import { withoutTrailing } from '../../platform/base/text.ts'
import type { Captures, Routing } from './decision.ts'
import { locationOf, substitute } from './destination.ts'
import { look } from './request.ts'

/** More languages than browsers send; the rest is ignored. */
const MAX_LANGUAGES = 32

/**
 * Returns the redirect target for the visitor's language: the cookie first, then `accept-language` by weight. Undefined if it is
 * the path itself or belongs to another rule: a visitor who chose Portuguese is not sent to the Swedish domain. `known`:
 * languages of all rules.
 */
export function localeRedirect(
  routing: Routing,
  { redirects, cookie }: NonNullable<Route['locale']>,
  captures: Captures,
  known: ReadonlySet<string>,
): string | undefined {
  const chosen = cookie === undefined ? undefined : look(routing, { type: 'cookie', key: cookie })
  const languages = [...(chosen === undefined ? [] : [chosen.toLowerCase()]), ...languagesOf(routing)]
  const language = languages.find((tag) => known.has(tag))
  const template = redirects.find(({ locale }) => locale === language)?.to
  if (template === undefined) return undefined
  const location = locationOf(template, substitute(routing, template, captures))
  return isHere(routing, location) ? undefined : location
}

/** At the domain of a language the path that the visitor asked for counts: rules may have put the language before it. */
function isHere(routing: Routing, location: string): boolean {
  const { path, visitorPath } = routing
  if (location === path) return true
  const url = URL.parse(location)
  const host = look(routing, { type: 'host', key: '' })
  return (
    url !== null && url.hostname === host && withoutTrailing(url.pathname, '/') === withoutTrailing(visitorPath, '/')
  )
}

/** The visitor's languages in lower case, preferred first. `de` follows `de-CH` unless it is listed. */
function languagesOf(routing: Routing): string[] {
  const header = look(routing, { type: 'header', key: 'accept-language' }) ?? ''
  const weighted = header
    .split(',', MAX_LANGUAGES)
    .map((part) => {
      const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim())
      const weight = parameters.find((parameter) => parameter.startsWith('q='))
      return { name: name.toLowerCase(), weight: weight === undefined ? 1 : Number(weight.slice(2)) }
    })
    .filter(({ name, weight }) => name !== '' && name !== '*' && weight > 0)
    .sort((a, b) => b.weight - a.weight)
  return weighted.flatMap(({ name }) => [name, name.split('-', 1)[0]!])
}
