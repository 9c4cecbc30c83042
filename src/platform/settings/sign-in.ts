/** Types of single sign-on settings. docs/single-sign-on.md. */
import { isIP } from 'node:net'
import { ROLES, type Role } from '../permissions/roles.ts'
import { BadSetting, BooleanSetting, IntegerSetting, type Setting, type SettingType, splitCommaList } from './types.ts'

/** Grant of a provider group: a role in a team, or the operator pages. */
export type GroupRule = { group: string; gives: 'operator' | { team: string; role: Role } }

/** The issuer signs users in, so it must use https, except on this machine. */
const ISSUER: SettingType<string> = {
  values: 'the issuer URL of the provider, with `https://`',
  read(name, text) {
    const url = URL.parse(text)
    const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
    if (!isSafe || /[?#@]/.test(text))
      throw new BadSetting(
        `${name} must be an https URL without query, such as https://login.example.com, not "${text}"`,
      )
    return text
  },
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || (isIP(host) === 4 && host.startsWith('127.'))
}

const TEXT: SettingType<string> = {
  values: '1 to 512 visible ASCII characters',
  read(name, text) {
    if (!/^[\x21-\x7e]{1,512}$/.test(text))
      throw new BadSetting(`${name} must be 1 to 512 visible ASCII characters, without spaces`)
    return text
  },
}

const SCOPES: SettingType<string> = {
  values: 'scopes with spaces between them, `openid` among them',
  read(name, text) {
    const scopes = text.split(' ').filter(Boolean)
    if (!scopes.includes('openid'))
      throw new BadSetting(`${name} must be scopes with spaces between them, with "openid" among them`)
    return scopes.join(' ')
  },
}

const GROUP_RULES: SettingType<GroupRule[]> = {
  values: '`<group>=<team slug>:<role>` or `<group>=operator`, with commas between them',
  read: (name, text) => splitCommaList(text).map((item) => readRule(name, item)),
}

function readRule(name: string, item: string): GroupRule {
  const [, group = '', gives = ''] = /^(.+)=([^=]+)$/.exec(item) ?? []
  const [team = '', role = ''] = gives.split(':')
  if (gives === 'operator') return { group, gives }
  if (team === '' || !ROLES.includes(role as Role) || gives.split(':').length !== 2)
    throw new BadSetting(
      `${name} must be like "platform=operator,web=acme:DEVELOPER", with a role of ${ROLES.join(', ')}; "${item}" is not`,
    )
  return { group, gives: { team, role: role as Role } }
}

export const SIGN_IN = {
  BERTH_PASSWORDS: {
    group: 'Sign-in',
    type: BooleanSetting(['on', 'off'], 'on'),
    default: 'on',
    description:
      'With `off` passwords are disabled for sign-in; it needs `BERTH_OIDC_ISSUER`: [single-sign-on.md](single-sign-on.md).',
  },
  BERTH_OIDC_ISSUER: {
    group: 'Sign-in',
    type: ISSUER,
    whenUnset: 'none: no single sign-on',
    description: 'The OpenID provider for single sign-on: [single-sign-on.md](single-sign-on.md).',
  },
  BERTH_OIDC_CLIENT_ID: {
    group: 'Sign-in',
    type: TEXT,
    whenUnset: 'none',
    description: 'The client id of Berth at the provider; required with `BERTH_OIDC_ISSUER`.',
  },
  BERTH_OIDC_CLIENT_SECRET: {
    group: 'Sign-in',
    type: TEXT,
    whenUnset: 'none',
    description: 'The client secret of Berth at the provider; required with `BERTH_OIDC_ISSUER`.',
    secret: true,
  },
  BERTH_OIDC_SCOPE: {
    group: 'Sign-in',
    type: SCOPES,
    whenUnset: '`openid email profile`, and `groups` and `offline_access` where the provider offers them',
    description: 'The scopes that Berth requests from the provider.',
  },
  BERTH_OIDC_GROUPS_CLAIM: {
    group: 'Sign-in',
    type: TEXT,
    default: 'groups',
    description: 'The claim with the groups of a user.',
  },
  BERTH_OIDC_GROUPS: {
    group: 'Sign-in',
    type: GROUP_RULES,
    whenUnset: 'none: groups grant nothing',
    description:
      'Which groups grant which role in which team, and which grant operator access: [single-sign-on.md](single-sign-on.md#groups).',
  },
} as const satisfies Record<string, Setting>

/** Whether users may sign in with a password. Throws BadSetting without a provider, since no user could sign in. */
export function canUsePasswords(passwords: boolean, issuer: string | undefined): boolean {
  if (!passwords && issuer === undefined)
    throw new BadSetting('BERTH_OIDC_ISSUER must be set where BERTH_PASSWORDS is off: otherwise no user could sign in')
  return passwords
}

/** Settings of sessions. docs/sign-in-and-consent.md: Sessions. */
export const SESSIONS = {
  BERTH_SESSION_DAYS: {
    group: 'Accounts and projects',
    type: IntegerSetting(1, 365),
    default: '30',
    description: 'Days that a browser stays signed in: [sign-in-and-consent.md](sign-in-and-consent.md#sessions).',
  },
  BERTH_OPERATOR_IDLE_HOURS: {
    group: 'Accounts and projects',
    type: IntegerSetting(1, 720),
    default: '12',
    description: 'Hours without use after which the session of an operator expires.',
  },
} as const satisfies Record<string, Setting>
