/** How the text of one setting is read. Each throws BadSetting, naming the variable and what it may be. */

/** A setting that cannot be used: the process says which and ends with 78 (EX_CONFIG). */
export class BadSetting extends Error {}

export function readPort(name: string, text = '', otherwise: number, orWord = ''): number {
  if (text === '') return otherwise
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new BadSetting(`${name} must be 0 to 65535${orWord}, not "${text}"`)
  return Number(text)
}

export function readUrl(name: string, text = ''): string | undefined {
  if (text === '') return undefined
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new BadSetting(`${name} must be an http(s) URL, not "${text}"`)
  // The API and the pages are at the root: links that are made from a path would lead nowhere.
  if (url.pathname !== '/' || /[?#@]/.test(text))
    throw new BadSetting(
      `${name} must be scheme, host and port alone, such as https://berth.example.com, not "${text}"`,
    )
  return text.replace(/\/+$/, '')
}

export function readSecret(name: string, text = '', least = 20): string | undefined {
  if (text === '') return undefined
  if (!/^[\x21-\x7e]{1,256}$/.test(text) || text.length < least)
    throw new BadSetting(`${name} must be ${least} to 256 visible ASCII characters, without spaces and line ends`)
  return text
}

export function readChoice<C extends string, O>(
  name: string,
  text: string | undefined,
  choices: readonly C[],
  otherwise: O,
): C | O {
  if (text === undefined || text === '') return otherwise
  if (!choices.includes(text as C)) throw new BadSetting(`${name} must be one of ${choices.join(', ')}, not "${text}"`)
  return text as C
}

export function readPattern(name: string, text: string | undefined, pattern: RegExp, otherwise: string): string {
  if (text === undefined || text === '') return otherwise
  if (!pattern.test(text))
    throw new BadSetting(`${name} must be like "${otherwise}": lower case letters, digits and "-"`)
  return text
}

export function listed(text = ''): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}
