/** The requests whose cost is looked at as a store grows. Each is about another account or project every time. */
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import type { Target } from './children.ts'
import { hostName, projectName, tokenOf } from './seed.ts'

export const ASKED = [
  { name: 'get', title: 'get by name' },
  { name: 'getById', title: 'get by id' },
  { name: 'list', title: 'list, first page' },
  { name: 'deep', title: 'list, page in the middle' },
  { name: 'everything', title: 'search that finds all' },
  { name: 'rare', title: 'search that finds one' },
  { name: 'nothing', title: 'search that finds none' },
  { name: 'letter', title: 'search for one letter' },
  { name: 'variables', title: 'list variables' },
  { name: 'create', title: 'create' },
  { name: 'check', title: 'check of the edge' },
  // Last: what is paused is not served.
  { name: 'pause', title: 'pause or unpause' },
] as const

/** A store that is served. `of`: what the account asks with, that a request is about. */
export type Served = {
  title: string
  target: Target
  accounts: number
  projects: number
  /** Where the middle of all seeded projects is. */
  middle: number
  /** Of the account that has 41,000 projects, when it is the one that is asked for. */
  large: { teamId: string } | undefined
  seconds: number
  megabytes: number
  startMs: number
}

export type Asker = Record<(typeof ASKED)[number]['name'], () => Promise<number>>

/** How a store is asked; each answers the milliseconds that it took, over a connection that is kept. */
export async function openAsker(served: Served): Promise<Asker> {
  const { target, accounts, projects, middle, large } = served
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const any = (count: number) => Math.floor(Math.random() * count)
  const ask = (method: string, path: string, token: string, body?: string) =>
    timed(agent, method, target.origin + path, { authorization: `Bearer ${token}` }, body)
  const own = large ? { token: target.token, query: `teamId=${large.teamId}` } : undefined
  const someone = () => own ?? { token: tokenOf(any(accounts)), query: '' }
  const known = await projectsOf(target, own ?? { token: tokenOf(0), query: '' })
  const project = () => {
    if (own !== undefined) return { ...own, name: known[any(known.length)]!.name }
    const n = any(accounts * Math.floor(projects / accounts))
    return { token: tokenOf(n % accounts), query: '', name: projectName(n) }
  }
  let made = 0
  // What was read before is remembered until the next commit, and a store that is written all the time remembers little.
  const fresh = async (read: () => Promise<number>) => {
    await ask('POST', '/v10/projects', target.token, JSON.stringify({ name: `fresh-${++made}` }))
    return read()
  }
  const list = (said: string) =>
    fresh(() => {
      const { token, query } = someone()
      return ask('GET', `/v9/projects?limit=20&${said}&${query}`, token)
    })
  const onProject = (method: string, path: string, rest = '') => {
    const { name, token, query } = project()
    return ask(method, `${path}/${name}${rest}?${query}`, token, method === 'POST' ? '{}' : undefined)
  }
  let paused = 0
  return {
    get: () => fresh(() => onProject('GET', '/v9/projects')),
    getById: () =>
      fresh(() => {
        const { id } = known[any(known.length)]!
        return ask('GET', `/v9/projects/${id}?${own?.query ?? ''}`, own?.token ?? tokenOf(0))
      }),
    list: () => list(''),
    deep: () => list(`until=${middle}`),
    everything: () => list('search=seeded'),
    rare: () => list(`search=${known.at(-1)!.name.slice(-8)}`),
    nothing: () => list('search=nowhere'),
    letter: () => list('search=e'),
    variables: () => fresh(() => onProject('GET', '/v9/projects', '/env')),
    create: () => {
      const { token, query } = someone()
      return ask('POST', `/v10/projects?${query}`, token, JSON.stringify({ name: `created-${++made}` }))
    },
    pause: () => onProject('POST', '/v1/projects', paused++ % 2 === 0 ? '/pause' : '/unpause'),
    check: () =>
      timed(agent, 'GET', `${target.edge}/edge/v1/check`, { 'x-forwarded-host': hostName(any(projects)) }, undefined),
  }
}

async function projectsOf({ origin }: Served['target'], { token, query }: { token: string; query: string }) {
  const answer = await fetch(`${origin}/v9/projects?limit=50&${query}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  return ((await answer.json()) as { projects: { id: string; name: string }[] }).projects
}

async function timed(
  agent: Agent,
  method: string,
  url: string,
  given: object,
  body: string | undefined,
): Promise<number> {
  const headers = {
    ...given,
    ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
  }
  const before = performance.now()
  const asked = request(url, { agent, method, headers })
  asked.end(body)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of answer.setEncoding('utf8')) text += chunk
  const took = performance.now() - before
  if (answer.statusCode !== 200)
    throw new Error(`${method} ${url} answered ${answer.statusCode}: ${text.slice(0, 300)}`)
  return took
}
