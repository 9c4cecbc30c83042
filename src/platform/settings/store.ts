/** Where Berth keeps what it stores: the database, the keyring and files. The first two may hold a secret, so messages never repeat them. */
import { BadSetting, BYTES, readPath, type Setting, type SettingType } from './types.ts'

export type DatabaseSetting = { engine: 'sqlite'; file: string } | { engine: 'postgres'; url: string }

/** Of PostgreSQL. `keepsStatements`: false where connections keep no statements under a name, as behind pgbouncer before 1.21. `patience`: every bound on waiting is multiplied by it. */
export type PoolSettings = { keepsStatements: boolean; patience: number; idle?: IdleTimes }

/**
 * Networks forget connections that are idle for minutes, and say nothing of it. `probeMs`: an idle connection is probed so often.
 * `believedMs`: one that was idle for longer is replaced before it is used.
 */
export type IdleTimes = { probeMs: number; believedMs: number }

export const DATABASE: SettingType<DatabaseSetting> = {
  values:
    '`sqlite:<file>`, or `postgres://user:password@host:port/database`, with `?sslmode=` and `disable`, `no-verify`, `allow`, `prefer`, `require`, `verify-ca` or `verify-full`',
  read(name, text) {
    // What follows the slashes of a URL is a host to some and a folder to others.
    if (/^sqlite:\/\//.test(text))
      throw new BadSetting(`${name} takes no slashes after sqlite: write sqlite:berth.db or sqlite:/var/lib/berth.db`)
    if (/^sqlite:./.test(text)) return { engine: 'sqlite', file: readPath(name, text.slice('sqlite:'.length)) }
    if (/^postgres(ql)?:\/\//.test(text)) return { engine: 'postgres', url: readServer(name, text) }
    throw new BadSetting(`${name} must be sqlite:<file> or postgres://user:password@host:port/database`)
  },
}

/** A character of a password that ends it in a URL: what follows would be taken for a host, a database or an option, and be told as one. */
function readServer(name: string, text: string): string {
  const url = URL.parse(text)
  const [tail = ''] = /[/?#].*$/s.exec(text.slice(text.indexOf('://') + 3)) ?? []
  const isWhole = url !== null && !/[@#]/.test(tail) && !/\p{Cc}|%(?![0-9a-f]{2})/iu.test(text) && isText(text)
  if (!isWhole)
    throw new BadSetting(
      `${name} must be postgres://user:password@host:port/database, with each of @ / # ? % of a user and a password percent-encoded (%40 %2F %23 %3F %25)`,
    )
  return withTls(name, url).href
}

/**
 * TABLE `sslmode` -> what the driver is told. It verifies with all of the last row, and says in nine lines that its next version will not. The name
 * `system` of libpq is for it the name of a file. docs/operations.md: TLS to PostgreSQL.
 */
const SSL_MODES: Readonly<Record<string, string>> = {
  disable: 'disable',
  'no-verify': 'no-verify',
  ...Object.fromEntries(
    ['allow', 'prefer', 'require', 'verify-ca', 'verify-full'].map((mode) => [mode, 'verify-full']),
  ),
}

function withTls(name: string, url: URL): URL {
  const { searchParams: options } = url
  // Whoever asks the driver for the modes of libpq has them.
  if (options.has('uselibpqcompat')) return url
  const isSystem = options.get('sslrootcert') === 'system'
  const mode = options.get('sslmode') ?? (isSystem ? 'verify-full' : undefined)
  if (isSystem) options.delete('sslrootcert')
  if (mode === undefined) return url
  if (!Object.hasOwn(SSL_MODES, mode))
    throw new BadSetting(`${name} must have an sslmode of ${Object.keys(SSL_MODES).join(', ')}, or none`)
  if (SSL_MODES[mode] !== options.get('sslmode')) options.set('sslmode', SSL_MODES[mode]!)
  return url
}

/** Whether what is percent-encoded is text in UTF-8: the driver takes nothing else. */
function isText(encoded: string): boolean {
  try {
    decodeURIComponent(encoded)
    return true
  } catch {
    return false
  }
}

/** A file, or the keyring itself. What is inside is checked when the keyring is opened. */
export type KeyringSetting = { file: string } | { text: string }

export const KEYRING: SettingType<KeyringSetting> = {
  values: 'a path, or the keyring itself as JSON',
  json: true,
  read(name, text) {
    if (text.startsWith('{')) return { text }
    const file = readPath(name, text)
    // A keyring that was quoted, encoded or cut, or one of its keys, is no path: it would be told as one.
    const isPath = /^\.{0,2}\//.test(text) ? !/[{}=\p{Cc}]/u.test(text) : !/["'{}=\p{Cc}]|^[\w+/-]{40,}$/u.test(text)
    if (!isPath) throw new BadSetting(`${name} must be a path, or the keyring itself as JSON, which begins with "{"`)
    return { file }
  },
}

const FOLDER: SettingType<string> = {
  values: 'a path',
  read(name, text) {
    if (/^[a-z][a-z0-9+.-]*:/i.test(text))
      throw new BadSetting(`${name} must be a folder, not "${text}": files are not kept in buckets yet`)
    return readPath(name, text)
  },
}

export const FILES = {
  BERTH_FILES_TO: {
    group: 'Storage',
    kind: FOLDER,
    whenUnset: '`<BERTH_DATA>/files`',
    description:
      'The folder of uploaded files. All instances that share a PostgreSQL must see the same one: [deploying-sites.md](deploying-sites.md#files).',
  },
  BERTH_FILES_PER_ACCOUNT: {
    group: 'Accounts and projects',
    kind: BYTES,
    default: '10GiB',
    description: 'How much room the uploaded files of an account may take: [limits.md](limits.md#uploads).',
  },
} as const satisfies Record<string, Setting>
