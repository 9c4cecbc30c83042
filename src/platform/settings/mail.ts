/** Types of mail settings. docs/integrations-life-cycle.md: Email. */
import { BadSetting, EnumSetting, type Setting, type SettingType } from './types.ts'

/** TLS policy: `canEncrypt` alone is opportunistic (RFC 7435), and `mustVerify` requires a valid certificate. */
type SmtpTls = { canEncrypt: boolean; mustEncrypt: boolean; mustVerify: boolean }

/** `secure`: TLS from the first byte, without STARTTLS. */
export type SmtpSetting = SmtpServer & { tls: SmtpTls }

type SmtpServer = { host: string; port: number; secure: boolean; user?: string; password?: string }

/** The URL may contain a password, so messages never repeat it. */
const SMTP: SettingType<SmtpServer> = {
  values: '`smtp://user:password@host:port` (587 by default) or `smtps://…` (465)',
  read(name, text) {
    const url = URL.parse(text)
    const secure = url?.protocol === 'smtps:'
    const isPlain = url?.hostname && !/[?#\p{Cc}]/u.test(text) && /^\/?$/.test(url.pathname)
    const [user, password] = [decoded(url?.username), decoded(url?.password)]
    if (!isPlain || (!secure && url.protocol !== 'smtp:') || user === undefined || password === undefined)
      throw new BadSetting(
        `${name} must be smtp://user:password@host:port or smtps://user:password@host:port, with @ / # ? % of a user and a password percent-encoded`,
      )
    return {
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: Number(url.port || (secure ? 465 : 587)),
      secure,
      ...(user !== '' && { user, password }),
    }
  },
}

function decoded(part = ''): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

const SMTP_TLS = EnumSetting('auto', 'verified', 'unverified', 'off')

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/

/**
 * Adds the TLS policy to the mail server. `auto` requires a valid certificate over a network with a password or `smtps://`. Email without a password
 * is encrypted where the server can, whatever its certificate, because the alternative is plaintext (RFC 7435). Loopback needs no TLS. Throws
 * BadSetting where a password would be sent in plaintext. docs/operations.md: Email.
 */
export function withTls(server: SmtpServer, choice: ReturnType<typeof SMTP_TLS.read>): SmtpSetting {
  const crosses = !LOOPBACK.test(server.host)
  if (choice === 'off' && server.secure)
    throw new BadSetting('BERTH_SMTP_TLS must not be off where BERTH_SMTP_URL begins with smtps://')
  if (choice === 'off' && crosses && server.user !== undefined)
    throw new BadSetting('BERTH_SMTP_TLS must not be off where BERTH_SMTP_URL has a password that crosses a network')
  const isAuto = choice === 'auto'
  const isGuarded = server.secure || (crosses && server.user !== undefined)
  return {
    ...server,
    tls: {
      canEncrypt: choice !== 'off',
      mustEncrypt: isAuto ? isGuarded : choice !== 'off',
      mustVerify: isAuto ? isGuarded : choice === 'verified',
    },
  }
}

export type Sender = { name: string; address: string }

const SENDER: SettingType<Sender> = {
  values: '`mail@example.com` or `Name <mail@example.com>`',
  read(name, text) {
    const [, displayName = '', address = text] = /^([^<>"\p{C}]*)<([^<>]*)>$/u.exec(text) ?? []
    if (!/^[^\s\p{C}<>,;:"@]+@[^\s\p{C}<>,;:"@]+$/u.test(address))
      throw new BadSetting(`${name} must be like mail@example.com or Name <mail@example.com>, not "${text}"`)
    return { name: displayName.trim(), address }
  },
}

export const MAIL = {
  BERTH_SMTP_URL: {
    group: 'Mail',
    type: SMTP,
    whenUnset: 'none: `.eml` files in `<BERTH_DATA>/mail`',
    description: 'The mail server; over `smtp://` a password crosses a network only after STARTTLS.',
    secret: true,
  },
  BERTH_SMTP_TLS: {
    group: 'Mail',
    type: SMTP_TLS,
    default: 'auto',
    description:
      'How TLS is used with the mail server. With `auto` a password crosses a network only to a server with a valid certificate: [operations.md](operations.md#email).',
  },
  BERTH_MAIL_FROM: {
    group: 'Mail',
    type: SENDER,
    whenUnset: '`Berth <berth@localhost>`',
    description: 'The sender address of email; required with `BERTH_SMTP_URL`.',
  },
} as const satisfies Record<string, Setting>
