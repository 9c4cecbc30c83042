/** Where Berth keeps what it stores: the database and the keyring. Either may hold a secret, so messages never repeat it. */
import { resolve } from 'node:path'
import { BadSetting, type Kind } from './kinds.ts'

export type DatabaseSetting = { engine: 'sqlite'; file: string } | { engine: 'postgres'; url: string }

export const DATABASE: Kind<DatabaseSetting> = {
  values: '`sqlite:<file>`, or `postgres://user:password@host:port/database`',
  read(name, text) {
    // What follows the slashes of a URL is a host to some and a folder to others.
    if (/^sqlite:\/\//.test(text))
      throw new BadSetting(`${name} takes no slashes after sqlite: write sqlite:berth.db or sqlite:/var/lib/berth.db`)
    if (/^sqlite:./.test(text)) return { engine: 'sqlite', file: resolve(text.slice('sqlite:'.length)) }
    if (/^postgres(ql)?:\/\//.test(text) && URL.canParse(text)) return { engine: 'postgres', url: text }
    throw new BadSetting(`${name} must be sqlite:<file> or postgres://user:password@host:port/database`)
  },
}

/** A file, or the keyring itself. What is inside is checked when the keyring is opened. */
export type KeyringSetting = { file: string } | { text: string }

export const KEYRING: Kind<KeyringSetting> = {
  values: 'a path, or the keyring itself as JSON',
  read: (_, text) => (text.trimStart().startsWith('{') ? { text } : { file: resolve(text) }),
}
