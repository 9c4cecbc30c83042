/** Settings: the environment -> Config, in one place and before anything is opened. Names: docs/settings in the README. */
import { join, resolve } from 'node:path'

export type Config = {
  host: string
  port: number
  /** Undefined: made from the address that is really bound. */
  publicUrl: string | undefined
  dataFolder: string
  database: { engine: 'sqlite'; file: string } | { engine: 'postgres'; url: string }
  operatorToken: string | undefined
  /** The keyring that seals values: a file, or the keyring itself. */
  keys: { file: string } | { text: string }
  logLevel: string
  testClock: boolean
  timers: boolean
}

/** A setting that cannot be used: the process says which and ends with 78 (EX_CONFIG). */
export class BadSetting extends Error {}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

/** Reads every setting from `env`. Throws BadSetting, naming the variable and what it may be. */
export function readConfig(env: Record<string, string | undefined>): Config {
  const dataFolder = resolve(env.BERTH_DATA || './data')
  return {
    host: env.HOST || '127.0.0.1',
    port: readPort(env.PORT),
    publicUrl: readUrl('BERTH_PUBLIC_URL', env.BERTH_PUBLIC_URL),
    dataFolder,
    database: readDatabase(env.DATABASE_URL, dataFolder),
    operatorToken: readSecret(env.BERTH_OPERATOR_TOKEN),
    keys: readKeys(env.BERTH_KEYS, dataFolder),
    logLevel: readChoice('BERTH_LOG_LEVEL', env.BERTH_LOG_LEVEL, LOG_LEVELS, 'info'),
    testClock: readChoice('BERTH_TEST_CLOCK', env.BERTH_TEST_CLOCK, ['0', '1'], '0') === '1',
    timers: readChoice('BERTH_TIMERS', env.BERTH_TIMERS, ['on', 'off'], 'on') === 'on',
  }
}

function readPort(text = ''): number {
  if (text === '') return 3000
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new BadSetting(`PORT must be 0 to 65535, not "${text}"`)
  return Number(text)
}

function readUrl(name: string, text = ''): string | undefined {
  if (text === '') return undefined
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new BadSetting(`${name} must be an http(s) URL, not "${text}"`)
  return text.replace(/\/+$/, '')
}

/** `sqlite:<file>` or `postgres://…`. The value may hold a password, so it is never repeated. */
function readDatabase(text = '', dataFolder: string): Config['database'] {
  if (text === '') return { engine: 'sqlite', file: join(dataFolder, 'berth.db') }
  if (/^sqlite:./.test(text)) return { engine: 'sqlite', file: resolve(text.slice('sqlite:'.length)) }
  if (/^postgres(ql)?:\/\//.test(text) && URL.canParse(text)) return { engine: 'postgres', url: text }
  throw new BadSetting('DATABASE_URL must be sqlite:<file> or postgres://user:password@host:port/database')
}

/** A path, or the keyring itself as JSON. What is wrong inside it is said when it is opened, never by repeating it. */
function readKeys(text = '', dataFolder: string): Config['keys'] {
  if (text.trimStart().startsWith('{')) return { text }
  return { file: text === '' ? join(dataFolder, 'keys.json') : resolve(text) }
}

function readSecret(text = ''): string | undefined {
  if (text === '') return undefined
  if (!/^\S{20,}$/.test(text)) throw new BadSetting('BERTH_OPERATOR_TOKEN must be 20 or more characters without spaces')
  return text
}

function readChoice(name: string, text: string | undefined, choices: string[], otherwise: string): string {
  if (text === undefined || text === '') return otherwise
  if (!choices.includes(text)) throw new BadSetting(`${name} must be one of ${choices.join(', ')}, not "${text}"`)
  return text
}
