/** Settings of the database, the keyring and files. The first two may contain a secret, so messages never repeat them. */
import { BadSetting, BYTES, readPath, type Setting, type SettingType } from './types.ts'

export type DatabaseSetting = { engine: 'sqlite'; file: string } | { engine: 'postgres'; url: string }

/**
 * PostgreSQL settings. `preparedStatements`: false if connections cannot keep named statements, as behind pgbouncer before 1.21. `patience`: factor of
 * every timeout.
 */
export type PoolSettings = { preparedStatements: boolean; patience: number; idle?: IdleTimes }

/**
 * Networks silently drop connections after minutes without traffic. `probeMs`: interval of probes. `believedMs`: a connection idle for longer is
 * replaced before use.
 */
export type IdleTimes = { probeMs: number; believedMs: number }

export const DATABASE: SettingType<DatabaseSetting> = {
  values:
    '`sqlite:<file>`, or `postgres://user:password@host:port/database`, with `?sslmode=` and `disable`, `no-verify`, `allow`, `prefer`, `require`, `verify-ca` or `verify-full`',
  read(name, text) {
    // After the slashes of a URL some expect a host and others a path.
    if (/^sqlite:\/\//.test(text))
      throw new BadSetting(`${name} takes no slashes after sqlite: write sqlite:berth.db or sqlite:/var/lib/berth.db`)
    if (/^sqlite:./.test(text)) return { engine: 'sqlite', file: readPath(name, text.slice('sqlite:'.length)) }
    if (/^postgres(ql)?:\/\//.test(text)) return { engine: 'postgres', url: readServer(name, text) }
    throw new BadSetting(`${name} must be sqlite:<file> or postgres://user:password@host:port/database`)
  },
}

/** Rejects characters of a password that end it in a URL: the rest would be read, and logged, as a host, database or option. */
function readServer(name: string, text: string): string {
  const url = URL.parse(text)
  const [tail = ''] = /[/?#].*/s.exec(text.slice(text.indexOf('://') + 3)) ?? []
  const isWhole = url !== null && !/[@#]/.test(tail) && !/\p{Cc}|%(?![0-9a-f]{2})/iu.test(text) && isText(text)
  if (!isWhole)
    throw new BadSetting(
      `${name} must be postgres://user:password@host:port/database, with each of @ / # ? % of a user and a password percent-encoded (%40 %2F %23 %3F %25)`,
    )
  return withTls(name, url).href
}

/**
 * TABLE `sslmode` → mode of the driver. It verifies with all of the last row, and logs nine lines that its next version will not. It reads the name
 * `system` of libpq as a file name. docs/operations.md: TLS to PostgreSQL.
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
  // This option enables the libpq modes in the driver.
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

/** Whether percent-encoded bytes are UTF-8, as the driver requires. */
function isText(encoded: string): boolean {
  try {
    decodeURIComponent(encoded)
    return true
  } catch {
    return false
  }
}

/** A file, or the keyring itself. The content is checked when the keyring is opened. */
export type KeyringSetting = { file: string } | { text: string }

export const KEYRING: SettingType<KeyringSetting> = {
  values: 'a path, or the keyring itself as JSON',
  json: true,
  read(name, text) {
    if (text.startsWith('{')) return { text }
    const file = readPath(name, text)
    // A quoted, encoded or truncated keyring or key must not pass as a path, because messages repeat paths.
    const isPath = /^\.{0,2}\//.test(text) ? !/[{}=\p{Cc}]/u.test(text) : !/["'{}=\p{Cc}]|^[\w+/-]{40,}$/u.test(text)
    if (!isPath) throw new BadSetting(`${name} must be a path, or the keyring itself as JSON, which begins with "{"`)
    return { file }
  },
}

const FOLDER: SettingType<string> = {
  values: 'a path',
  read(name, text) {
    if (/^[a-z][a-z0-9+.-]*:/i.test(text))
      throw new BadSetting(`${name} must be a directory, not "${text}": buckets are not supported for files yet`)
    return readPath(name, text)
  },
}

export const FILES = {
  BERTH_FILES_TO: {
    group: 'Storage',
    type: FOLDER,
    whenUnset: '`<BERTH_DATA>/files`',
    description:
      'The directory of uploaded files. All instances that share a PostgreSQL must see the same one: [deploying-sites.md](deploying-sites.md#files).',
  },
  BERTH_FILES_PER_ACCOUNT: {
    group: 'Accounts and projects',
    type: BYTES,
    default: '10GiB',
    description: 'Limit on uploaded files of an account: [limits.md](limits.md#uploads).',
  },
} as const satisfies Record<string, Setting>
