/** Setting definitions, the function that reads their text, and shared setting types. docs/settings.md. */

import { resolve } from 'node:path'
import { withoutTrailing } from '../base/text.ts'

/** An invalid setting: the process names it and exits with 78 (EX_CONFIG). */
export class BadSetting extends Error {}

export type SettingType<Value> = {
  /** Allowed values, in Markdown, for docs/settings.md. */
  values: string
  /** A JSON text, which may have surrounding white space. */
  json?: true
  /** Reads non-empty text. Throws BadSetting, which begins with `name` and states the allowed values. */
  read(name: string, text: string): Value
}

export type Setting = {
  /** Heading in docs/settings.md. */
  group:
    | 'Listening'
    | 'Storage'
    | 'Backups'
    | 'Tokens'
    | 'Sign-in'
    | 'Accounts and projects'
    | 'Domains'
    | 'Mail'
    | 'Proxies'
    | 'Sites'
    | 'Builds'
    | 'Functions'
    | 'Running'
  type: SettingType<unknown>
  /** Text to read when unset. */
  default?: string
  /** Effect without a value and a default, in Markdown. */
  whenUnset?: string
  /** One sentence, in Markdown. Links are relative to docs/. */
  description: string
  /** Grants access or decrypts data. No message repeats it. */
  secret?: true
  /** A file that is reread at runtime. Other changes need a restart. */
  reloadable?: true
}

/** The value of each setting of a table. Undefined where it is not set and has no default. */
export type ValuesOf<Rows extends Record<string, Setting>> = {
  [N in keyof Rows]: Rows[N]['type'] extends SettingType<infer V>
    ? Rows[N] extends { default: string }
      ? V
      : V | undefined
    : never
}

/** Quotation marks that editors, shells and env files leave around a text. */
const QUOTES = ['""', "''", '``', '“”', '‘’', '„“', '«»']
/** White space and invisible characters. */
const UNSEEN = /[\s\p{Cc}\p{Cf}]/u

/**
 * Reads the text of a setting. Throws BadSetting, without the text, for quotes or white space around it and for an uppercase URL scheme.
 * Each would be read as another value, such as a file name.
 */
export function readSetting<Value>(name: string, text: string, { json, read }: SettingType<Value>): Value {
  // White space around a JSON text is insignificant (RFC 8259, 2).
  const bare = json ? text.replace(/^[\r\n\t ]+(?=\{)|(?<=\})[\r\n\t ]+$/g, '') : text
  const ends = [bare[0]!, bare.at(-1)!] as const
  if (bare.length > 1 && QUOTES.includes(ends.join('')))
    throw new BadSetting(`${name} must be without the quotes around it: docker run --env-file leaves them in the value`)
  ends.forEach((character, index) => {
    if (UNSEEN.test(character))
      throw new BadSetting(`${name} must not ${index === 0 ? 'begin' : 'end'} with ${nameOf(character)}`)
  })
  const [scheme] = /^[a-z][a-z0-9+.-]*(?=:\/\/)/i.exec(bare) ?? []
  if (scheme !== undefined && scheme !== scheme.toLowerCase())
    throw new BadSetting(`${name} must have what is before its "://" in lower case`)
  return read(name, bare)
}

function nameOf(character: string): string {
  const code = `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
  if (character === '\r') return `a carriage return (${code}): its file has the line ends of Windows`
  return /\s/.test(character) ? `white space (${code})` : `a character that cannot be seen (${code})`
}

export const HOST_NAME: SettingType<string> = { values: 'an address or a host name', read: (_, text) => text }

export const PATH: SettingType<string> = { values: 'a path', read: readPath }

/**
 * Resolves a path against the working directory. Throws BadSetting for a URL, such as `gs://bucket`, and for a quote at one of its ends, which are
 * not meant as paths.
 */
export function readPath(name: string, text: string): string {
  if (/^[a-z][a-z0-9+.-]+:/i.test(text))
    throw new BadSetting(
      `${name} must be a path, not an address; write ./ before the name of a directory that has a ":"`,
    )
  for (const [end, pattern] of [
    ['begin', /^["'`]/],
    ['end', /["'`]$/],
  ] as const)
    if (pattern.test(text)) throw new BadSetting(`${name} must not ${end} with a quote: it is not part of the path`)
  return resolve(text)
}

export const PORT: SettingType<number> = { values: '0 to 65535', read: (name, text) => readPort(name, text) }

export const PORT_OR_OFF: SettingType<number | 'off'> = {
  values: '0 to 65535, or `off`',
  read: (name, text) => (text === 'off' ? 'off' : readPort(name, text, ' or off')),
}

function readPort(name: string, text: string, orWord = ''): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new BadSetting(`${name} must be 0 to 65535${orWord}, not "${text}"`)
  return Number(text)
}

/** An integer within bounds. */
export function IntegerSetting(min: number, max: number): SettingType<number> {
  return {
    values: `${min} to ${max}`,
    read(name, text) {
      if (!/^\d{1,9}$/.test(text) || Number(text) < min || Number(text) > max)
        throw new BadSetting(`${name} must be a whole number from ${min} to ${max}, not "${text}"`)
      return Number(text)
    },
  }
}

const UNITS: Readonly<Record<string, number>> = { '': 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 }
/** Larger than every disk, and small enough to count exactly. */
const MAX_BYTES = 1024 ** 5

export const BYTES: SettingType<number> = {
  values: 'bytes, or a number with `KiB`, `MiB`, `GiB` or `TiB`',
  read(name, text) {
    const [, count = '', unit = ''] = /^(\d{1,15})(KiB|MiB|GiB|TiB)?$/.exec(text) ?? []
    const bytes = Number(count) * UNITS[unit]!
    if (count === '' || bytes < 1 || bytes > MAX_BYTES)
      throw new BadSetting(`${name} must be a number of bytes such as 10GiB, from 1 to 1024TiB, not "${text}"`)
    return bytes
  },
}

export const ORIGIN: SettingType<string> = {
  values: '`http://` or `https://`, host and port, without a path',
  read(name, text) {
    const url = URL.parse(text)
    if (url === null || !/^https?:$/.test(url.protocol))
      throw new BadSetting(`${name} must be an http(s) URL, not "${text}"`)
    // The API and the pages are at the root, so links below a path would be broken.
    if (url.pathname !== '/' || /[?#@]/.test(text))
      throw new BadSetting(
        `${name} must be scheme, host and port alone, such as https://berth.example.com, not "${text}"`,
      )
    return withoutTrailing(text, '/')
  },
}

/** A token. Messages never repeat it. */
export function TokenSetting(min: number): SettingType<string> {
  return {
    values: `${min} to 256 visible ASCII characters`,
    read(name, text) {
      if (!/^[\x21-\x7e]{1,256}$/.test(text) || text.length < min)
        throw new BadSetting(`${name} must be ${min} to 256 visible ASCII characters, without spaces and line ends`)
      return text
    },
  }
}

/** A token for URL queries, because some proxies can send it only there. */
export const URL_TOKEN: SettingType<string> = {
  values: '20 to 256 letters, digits, `-`, `_`, `.` or `~`',
  read(name, text) {
    if (!/^[\w.~-]{20,256}$/.test(text))
      throw new BadSetting(`${name} must be 20 to 256 letters, digits, "-", "_", "." or "~"`)
    return text
  },
}

/** One of several words. Reading throws BadSetting for any other. */
export function EnumSetting<const C extends string>(...choices: readonly C[]): SettingType<C> {
  return {
    values: choices.map((choice) => `\`${choice}\``).join(', '),
    read(name, text) {
      if (!choices.includes(text as C))
        throw new BadSetting(`${name} must be one of ${choices.join(', ')}, not "${text}"`)
      return text as C
    },
  }
}

/** One of two words; `on` is the one for true. */
export function BooleanSetting(words: readonly [string, string], on: string): SettingType<boolean> {
  const { values, read } = EnumSetting(...words)
  return { values, read: (name, text) => read(name, text) === on }
}

/** Lower case letters, digits and "-" that match the pattern; `like` is the example of the message. */
export function LabelSetting(pattern: RegExp, like: string): SettingType<string> {
  return {
    values: 'lower case letters, digits and `-`',
    read(name, text) {
      if (!pattern.test(text))
        throw new BadSetting(`${name} must be like "${like}": lower case letters, digits and "-"`)
      return text
    },
  }
}

/** Splits a comma-separated text. */
export function splitCommaList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

/** Node.js versions for projects: those of the specification, and before them those of the newest SDK. */
export const NODE_VERSIONS = ['24.x', '22.x', '20.x', '18.x', '16.x', '14.x', '12.x', '10.x', '8.10.x'] as const
