/** Commands that are one request of the operator API. */
import { readFileSync } from 'node:fs'
import { BadUsage, type Given, type Run } from '../command-line/command.ts'
import { type Asking, askService, pathOf } from './ask.ts'

const DAY_MS = 86_400_000

/** `holds`: a field of the answer that has to be true for the command to end well. */
type Request = Omit<Asking, 'as'> & { holds?: string }

const REQUESTS: Record<string, (given: Given) => Request> = {
  'keys status': () => ({ method: 'GET', path: path('keys') }),
  'keys rotate': () => ({ method: 'POST', path: path('keys', 'rotate') }),
  'keys retire': ({ said }) => ({ method: 'DELETE', path: path('keys', said('key')) }),
  'audit verify': ({ said }) => ({
    method: 'GET',
    path: `${path('audit', 'verify')}${said('head') === undefined ? '' : `?head=${encodeURIComponent(said('head')!)}`}`,
    holds: 'verified',
  }),
  'user add': ({ said }) => ({
    method: 'POST',
    path: path('users'),
    body: { email: said('email'), username: said('username'), name: said('name') },
  }),
  'user list': ({ said }) => listed('users', { search: said('search') }),
  'user show': ({ said }) => ({ method: 'GET', path: path('users', said('user')) }),
  'user set': ({ said }) => ({
    method: 'PATCH',
    path: path('users', said('user')),
    body: { email: said('email'), username: said('username'), name: said('name') },
  }),
  'user suspend': ({ said }) => ({ method: 'PATCH', path: path('users', said('user')), body: { suspended: true } }),
  'user resume': ({ said }) => ({ method: 'PATCH', path: path('users', said('user')), body: { suspended: false } }),
  'user delete': (given) => removal('users', 'user', given),
  'user password-link': ({ said }) => ({ method: 'POST', path: path('users', said('user'), 'password-link') }),
  'team add': ({ said }) => ({
    method: 'POST',
    path: path('teams'),
    body: { slug: said('slug'), name: said('name') ?? said('slug'), ownerId: said('owner'), plan: said('plan') },
  }),
  'team list': ({ said }) => listed('teams', { search: said('search') }),
  'team show': ({ said }) => ({ method: 'GET', path: path('teams', said('team')) }),
  'team delete': (given) => removal('teams', 'team', given),
  'account plan': ({ said }) => ({
    method: 'PATCH',
    path: path('accounts', said('account')),
    body: { plan: said('plan') },
  }),
  'team member add': ({ said }) => ({
    method: 'PUT',
    path: path('teams', said('team'), 'members', said('user')),
    body: { role: said('role') },
  }),
  'team member rm': ({ said }) => ({
    method: 'DELETE',
    path: path('teams', said('team'), 'members', said('user')),
  }),
  'token add': ({ said, all }) => ({
    method: 'POST',
    path: path('tokens'),
    body: {
      userId: said('user'),
      name: said('name'),
      teamId: said('team'),
      scopes: unlessNone(all('scope')),
      projectIds: unlessNone(all('project')),
      expiresAt: momentIn(said('expires')),
    },
  }),
  'token list': ({ said }) =>
    listed('tokens', { search: said('search'), userId: said('user'), unusedSince: daysAgo(said('unused-days')) }),
  'token revoke': () => ({
    method: 'POST',
    path: path('tokens', 'revoke'),
    body: { token: readFileSync(0, 'utf8').trim() },
  }),
  'token rm': ({ said }) => ({ method: 'DELETE', path: path('tokens', said('token')) }),
  'integration add': ({ said, all }) => ({
    method: 'POST',
    path: path('integrations'),
    body: {
      slug: said('slug'),
      teamId: said('team'),
      name: said('name') ?? said('slug'),
      redirectUrl: said('redirect-url'),
      webhookUrl: said('webhook-url'),
      logoUrl: said('logo-url'),
      scopes: all('scope'),
    },
  }),
  'integration list': ({ said }) => ({
    method: 'GET',
    path: `${path('integrations')}?limit=100${said('team') === undefined ? '' : `&teamId=${encodeURIComponent(said('team')!)}`}`,
    list: 'integrations',
  }),
  'integration rm': ({ said }) => ({ method: 'DELETE', path: path('integrations', said('integration')) }),
  'integration secret add': ({ said }) => ({
    method: 'POST',
    path: path('integrations', said('integration'), 'secrets'),
  }),
  'integration secret rm': ({ said }) => ({
    method: 'DELETE',
    path: path('integrations', said('integration'), 'secrets', said('secret')),
  }),
}

/** What runs a command of the operator: its request, and the service's answer. */
export function operatorCommand(words: string): Run {
  const request = REQUESTS[words]!
  return async (given) => {
    const { holds, ...asked } = request(given)
    const data = await askService(given.settings(), { ...asked, as: 'operator' })
    if (data === undefined) return { data: { done: true }, text: 'done' }
    const held = holds === undefined || (data as Record<string, unknown>)[holds] === true
    return { data, code: held ? 0 : 1 }
  }
}

function path(...parts: (string | undefined)[]): string {
  return pathOf('/operator/v1', parts)
}

function listed(name: string, filters: Record<string, string | undefined>): Request {
  const said = Object.entries(filters).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return { method: 'GET', path: `${path(name)}?${new URLSearchParams([['limit', '100'], ...said])}`, list: name }
}

function removal(list: string, name: string, { said, has }: Given): Request {
  return { method: 'DELETE', path: `${path(list, said(name))}${has('force') ? '?force=true' : ''}` }
}

function daysAgo(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,5}$/.test(text)) throw new BadUsage(`--unused-days must be a number of days, not "${text}"`)
  return String(Date.now() - Number(text) * DAY_MS)
}

function unlessNone(values: string[]): string[] | undefined {
  return values.length === 0 ? undefined : values
}

/** Days from now, or a moment. */
function momentIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const isMoment = /^\d{4}-\d\d-\d\d/.test(text)
  const moment = /^\d{1,5}$/.test(text) ? Date.now() + Number(text) * DAY_MS : isMoment ? Date.parse(text) : Number.NaN
  if (Number.isNaN(moment))
    throw new BadUsage(`--expires must be days or a moment such as 2027-01-31T00:00:00Z, not "${text}"`)
  return moment
}
