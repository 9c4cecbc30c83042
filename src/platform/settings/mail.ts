/** What settings of mail may be. docs/integrations-life-cycle.md: Mail. */
import { BadSetting, type Kind } from './kinds.ts'

export type SmtpSetting = { host: string; port: number; secure: boolean; user?: string; password?: string }

/** The URL may hold a password, so messages never repeat it. */
export const SMTP: Kind<SmtpSetting> = {
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

export type Sender = { name: string; address: string }

export const SENDER: Kind<Sender> = {
  values: '`mail@example.com` or `Name <mail@example.com>`',
  read(name, text) {
    const [, displayName = '', address = text] = /^([^<>"\p{C}]*)<([^<>]*)>$/u.exec(text) ?? []
    if (!/^[^\s\p{C}<>,;:"@]+@[^\s\p{C}<>,;:"@]+$/u.test(address))
      throw new BadSetting(`${name} must be like mail@example.com or Name <mail@example.com>, not "${text}"`)
    return { name: displayName.trim(), address }
  },
}
