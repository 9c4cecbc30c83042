/** Commands that are one request of the operator API. */
import { readText } from '../../platform/adapters/file-errors.ts'
import { BadUsage, type Invocation, type RunCommand } from '../command-line/command.ts'
import { showReport } from './format.ts'
import { callService, queryText, type ServiceRequest, servicePath } from './service-client.ts'

const DAY_MS = 86_400_000

/** The time limit of a walk through a complete log or store. */
const WALK_MS = 3_600_000

/** `holds`: a response field that must be true for exit code 0. `show`: formats the response for a terminal. */
type Request = Omit<ServiceRequest, 'as'> & {
  holds?: string
  show?: (answer: never) => string
  timeoutMs?: number
}

const REQUESTS: Record<string, (invocation: Invocation) => Request> = {
  report: () => ({ method: 'GET', path: path('report'), show: showReport }),
  'keys status': () => ({ method: 'GET', path: path('keys') }),
  'keys rotate': () => ({ method: 'POST', path: path('keys', 'rotate'), timeoutMs: WALK_MS }),
  'keys retire': ({ value }) => ({ method: 'DELETE', path: path('keys', value('key')) }),
  'audit verify': ({ value }) => ({
    method: 'GET',
    path: path('audit', 'verify') + queryText({ head: value('head') }),
    holds: 'verified',
    timeoutMs: WALK_MS,
  }),
  'user add': ({ value }) => ({
    method: 'POST',
    path: path('users'),
    body: { email: value('email'), username: value('username'), name: value('name') },
  }),
  'user list': ({ value }) => listed('users', { search: value('search') }),
  'user show': ({ value }) => ({ method: 'GET', path: path('users', value('user')) }),
  'user set': ({ value }) => ({
    method: 'PATCH',
    path: path('users', value('user')),
    body: { email: value('email'), username: value('username'), name: value('name') },
  }),
  'user suspend': ({ value }) => ({ method: 'PATCH', path: path('users', value('user')), body: { suspended: true } }),
  'user resume': ({ value }) => ({ method: 'PATCH', path: path('users', value('user')), body: { suspended: false } }),
  'user delete': (invocation) => removal('users', 'user', invocation),
  'user password-link': ({ value }) => ({ method: 'POST', path: path('users', value('user'), 'password-link') }),
  'user second-factors rm': ({ value }) => ({ method: 'DELETE', path: path('users', value('user'), 'second-factors') }),
  'team add': ({ value }) => ({
    method: 'POST',
    path: path('teams'),
    body: { slug: value('slug'), name: value('name') ?? value('slug'), ownerId: value('owner'), plan: value('plan') },
  }),
  'team list': ({ value }) => listed('teams', { search: value('search') }),
  'team show': ({ value }) => ({ method: 'GET', path: path('teams', value('team')) }),
  'team delete': (invocation) => removal('teams', 'team', invocation),
  'account plan': ({ value }) => ({
    method: 'PATCH',
    path: path('accounts', value('account')),
    body: { plan: value('plan') },
  }),
  'team member add': ({ value }) => ({
    method: 'PUT',
    path: path('teams', value('team'), 'members', value('user')),
    body: { role: value('role') },
  }),
  'team member rm': ({ value }) => ({
    method: 'DELETE',
    path: path('teams', value('team'), 'members', value('user')),
  }),
  'token add': ({ value, all }) => ({
    method: 'POST',
    path: path('tokens'),
    body: {
      userId: value('user'),
      name: value('name'),
      teamId: value('team'),
      scopes: unlessNone(all('scope')),
      projectIds: unlessNone(all('project')),
      expiresAt: momentIn(value('expires')),
    },
  }),
  'token list': ({ value }) =>
    listed('tokens', { search: value('search'), userId: value('user'), unusedSince: daysAgo(value('unused-days')) }),
  'token revoke': () => ({ method: 'POST', path: path('tokens', 'revoke'), body: { token: tokenOfStdin() } }),
  'token rm': ({ value }) => ({ method: 'DELETE', path: path('tokens', value('token')) }),
  'runner list': () => ({ method: 'GET', path: path('runners') }),
  'runner drain': ({ value }) => ({
    method: 'PATCH',
    path: path('runners', value('runner')),
    body: { draining: true },
  }),
  'runner resume': ({ value }) => ({
    method: 'PATCH',
    path: path('runners', value('runner')),
    body: { draining: false },
  }),
  'runner rm': ({ value }) => ({ method: 'DELETE', path: path('runners', value('runner')) }),
  'integration add': ({ value, all }) => ({
    method: 'POST',
    path: path('integrations'),
    body: {
      slug: value('slug'),
      teamId: value('team'),
      name: value('name') ?? value('slug'),
      redirectUrl: value('redirect-url'),
      webhookUrl: value('webhook-url'),
      logoUrl: value('logo-url'),
      scopes: all('scope'),
    },
  }),
  'integration list': ({ value }) => listed('integrations', { teamId: value('team') }),
  'integration rm': ({ value }) => ({ method: 'DELETE', path: path('integrations', value('integration')) }),
  'integration secret add': ({ value }) => ({
    method: 'POST',
    path: path('integrations', value('integration'), 'secrets'),
  }),
  'integration secret rm': ({ value }) => ({
    method: 'DELETE',
    path: path('integrations', value('integration'), 'secrets', value('secret')),
  }),
}

/** Returns the function that runs an operator command. */
export function operatorCommand(words: string): RunCommand {
  const request = REQUESTS[words]!
  return async (invocation) => {
    const { holds, show, timeoutMs, ...sent } = request(invocation)
    const data = await callService(invocation.settings(), { ...sent, as: 'operator' }, timeoutMs)
    if (data === undefined) return { data: { done: true }, text: 'done' }
    const isTrue = holds === undefined || (data as Record<string, unknown>)[holds] === true
    return { data, ...(show && { text: show(data as never) }), code: isTrue ? 0 : 1 }
  }
}

/** A token to revoke is read from stdin: arguments are visible in shell history and the process list. */
function tokenOfStdin(): string {
  const token = readText('-').trim()
  if (token === '') throw new BadUsage('stdin holds no token: give it there, such as by < file')
  return token
}

function path(...parts: (string | undefined)[]): string {
  return servicePath('/operator/v1', parts)
}

function listed(name: string, filters: Record<string, string | undefined>): Request {
  return { method: 'GET', path: path(name) + queryText({ limit: 100, ...filters }), list: name }
}

function removal(list: string, name: string, { value, has }: Invocation): Request {
  return { method: 'DELETE', path: `${path(list, value(name))}${has('force') ? '?force=true' : ''}` }
}

function daysAgo(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,5}$/.test(text)) throw new BadUsage(`--unused-days must be a number of days, not "${text}"`)
  return String(Date.now() - Number(text) * DAY_MS)
}

function unlessNone(values: string[]): string[] | undefined {
  return values.length === 0 ? undefined : values
}

/** Days from now, or a time. */
function momentIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const isMoment = /^\d{4}-\d\d-\d\d/.test(text)
  const moment = /^\d{1,5}$/.test(text) ? Date.now() + Number(text) * DAY_MS : isMoment ? Date.parse(text) : Number.NaN
  if (Number.isNaN(moment))
    throw new BadUsage(`--expires must be days or a time such as 2027-01-31T00:00:00Z, not "${text}"`)
  return moment
}
