/** What settings of single sign-on may be. docs/single-sign-on.md. */
import { isIP } from 'node:net'
import { ROLES, type Role } from '../permissions/roles.ts'
import { BadSetting, BooleanSetting, type Setting, type SettingType, splitCommaList } from './types.ts'

/** What a group of the provider gives: a role in a team, or the pages of the operator. */
export type GroupRule = { group: string; gives: 'operator' | { team: string; role: Role } }

/** Whoever speaks for the issuer signs people in, so it is asked over https; on this machine alone plain http will do. */
const ISSUER: SettingType<string> = {
  values: '`https://` and what the provider says its issuer is',
  read(name, text) {
    const url = URL.parse(text)
    const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
    if (url === null || !isSafe || /[?#@]/.test(text))
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
  if (group !== '' && gives === 'operator') return { group, gives }
  if (group === '' || team === '' || !ROLES.includes(role as Role) || gives.split(':').length !== 2)
    throw new BadSetting(
      `${name} must be like "platform=operator,web=acme:DEVELOPER", with a role of ${ROLES.join(', ')}; "${item}" is not`,
    )
  return { group, gives: { team, role: role as Role } }
}

export const SIGN_IN = {
  BERTH_PASSWORDS: {
    group: 'Sign-in',
    kind: BooleanSetting(['on', 'off'], 'on'),
    default: 'on',
    description:
      'With `off` nobody signs in by a password; it needs `BERTH_OIDC_ISSUER`: [single-sign-on.md](single-sign-on.md).',
  },
  BERTH_OIDC_ISSUER: {
    group: 'Sign-in',
    kind: ISSUER,
    whenUnset: 'none: no single sign-on',
    description: 'The OpenID provider by which people sign in: [single-sign-on.md](single-sign-on.md).',
  },
  BERTH_OIDC_CLIENT_ID: {
    group: 'Sign-in',
    kind: TEXT,
    whenUnset: 'none',
    description: 'What the provider calls Berth; it must be set where `BERTH_OIDC_ISSUER` is.',
  },
  BERTH_OIDC_CLIENT_SECRET: {
    group: 'Sign-in',
    kind: TEXT,
    whenUnset: 'none',
    description: 'The secret by which the provider knows Berth; it must be set where `BERTH_OIDC_ISSUER` is.',
    secret: true,
  },
  BERTH_OIDC_SCOPE: {
    group: 'Sign-in',
    kind: SCOPES,
    whenUnset: '`openid email profile`, and `groups` and `offline_access` where the provider offers them',
    description: 'What Berth asks the provider for.',
  },
  BERTH_OIDC_GROUPS_CLAIM: {
    group: 'Sign-in',
    kind: TEXT,
    default: 'groups',
    description: 'The claim in which the provider names the groups of a person.',
  },
  BERTH_OIDC_GROUPS: {
    group: 'Sign-in',
    kind: GROUP_RULES,
    whenUnset: 'none: groups give nothing',
    description:
      'Which groups give which role in which team, and which make operators: [single-sign-on.md](single-sign-on.md#groups).',
  },
} as const satisfies Record<string, Setting>

/** Whether people may sign in by a password. Throws BadSetting where there is no provider either: nobody could sign in. */
export function mayUsePasswords(passwords: boolean, issuer: string | undefined): boolean {
  if (!passwords && issuer === undefined)
    throw new BadSetting('BERTH_OIDC_ISSUER must be set where BERTH_PASSWORDS is off: nobody could sign in')
  return passwords
}
