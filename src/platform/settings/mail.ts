/** What settings of mail may be. docs/integrations-life-cycle.md: Mail. */
import { BadSetting, EnumSetting, type Setting, type SettingType } from './types.ts'

/** How TLS is used with a mail server: `mayEncrypt` alone is opportunistic (RFC 7435), and `mustVerify` is about its certificate. */
type SmtpTls = { mayEncrypt: boolean; mustEncrypt: boolean; mustVerify: boolean }

/** `secure`: TLS from the first byte, without STARTTLS. */
export type SmtpSetting = SmtpServer & { tls: SmtpTls }

type SmtpServer = { host: string; port: number; secure: boolean; user?: string; password?: string }

/** The URL may hold a password, so messages never repeat it. */
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

/** How TLS is used with the mail server. */
const SMTP_TLS = EnumSetting('auto', 'verified', 'unverified', 'off')

/** The address or name of this machine, as a mail server is set. */
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/

/**
 * The mail server with how TLS is used. `auto`: what has a password crosses a network encrypted, to a server whose certificate is good for its
 * name, and so does everything over `smtps://`. A letter without a password is encrypted where the server can, whatever its certificate: the
 * other choice is a letter in clear (RFC 7435). What stays on this machine crosses no network. Throws BadSetting where a password would cross one in clear.
 * docs/operations.md: Mail.
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
      mayEncrypt: choice !== 'off',
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
    kind: SMTP,
    whenUnset: 'none: `.eml` files in `<BERTH_DATA>/mail`',
    description: 'The mail server; over `smtp://` a password crosses a network only after STARTTLS.',
    secret: true,
  },
  BERTH_SMTP_TLS: {
    group: 'Mail',
    kind: SMTP_TLS,
    default: 'auto',
    description:
      'How TLS is used with the mail server. With `auto` a password crosses a network only to a server whose certificate is good: [operations.md](operations.md#mail).',
  },
  BERTH_MAIL_FROM: {
    group: 'Mail',
    kind: SENDER,
    whenUnset: '`Berth <berth@localhost>`',
    description: 'The sender of letters; it must be set where `BERTH_SMTP_URL` is.',
  },
} as const satisfies Record<string, Setting>
