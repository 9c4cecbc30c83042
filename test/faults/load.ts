/** A mixed load of writes, written down in a ledger: creates, changes, variables, domains, pauses, removals, code exchanges. */
import { setTimeout as sleep } from 'node:timers/promises'
import { credentialsOf, type ServiceHome } from '../support/process.ts'
import { type Entry, type Ledger, lastOf, type State } from './ledger.ts'
import { type Line, openLine, type Said } from './line.ts'

const LANES = 8
const MAX_PROJECTS = 4
const REDIRECT = 'https://app.example.com/callback'

export type App = { id: string; clientId: string; clientSecret: string }

/** A write that was answered on one connection, and what it made of its project. */
export type Written = { port: number; name: string; next: State; done: boolean }

export type Load = {
  /** Resolves when every lane has stopped; rejects with the error of a lane that got an unexpected response. */
  ended: Promise<void>
  stop(): void
  /** What was answered or not, so far: `2xx`, `503 unavailable`, `ECONNRESET`, or what an acknowledgement contradicts. */
  ends: Map<string, number>
  /** How many writes were acknowledged since it started. */
  acknowledgedSince(): number
  /** Throws what stopped a lane: who waits for more of the load waits in vain. */
  mustRun(): void
}

type Step = {
  method: string
  path: string
  body?: object
  status: number
  next: State
  /** Reads what the answer alone says. */
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the service said
  read?: (body: any) => void
  /** What an acknowledgement contradicts: where an acknowledged variable was lost, its place is free. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  contradiction?: (body: any) => string | undefined
}

/** How a load behaves. `goesOn`: after a lost connection it connects again, rather than end. */
export type LoadOptions = {
  lanes?: number
  goesOn?: boolean
  app?: App | undefined
  prefix: string
  onWrite?: (written: Written) => void
}

/** Starts lanes that write one thing after another. `addresses`: a lane keeps to one while it answers. */
export function startLoad(home: ServiceHome, addresses: string[], ledger: Ledger, options: LoadOptions): Load {
  const { token } = credentialsOf(home)
  const ends = new Map<string, number>()
  const before = ledger.acknowledged
  let stopping = false
  const note = (said: Said) => {
    const end = said.gone ?? (said.status < 400 ? '2xx' : `${said.status} ${said.body?.error?.code}`)
    ends.set(end, (ends.get(end) ?? 0) + 1)
  }
  const lane = async (number: number) => {
    let line = openLine(addresses[number % addresses.length]!)
    let at = number
    const projects = () => [...ledger.entries.values()].filter((entry) => laneOf(entry.name) === number && !entry.doubt)
    for (let count = 0; !stopping; count++) {
      const name = `${options.prefix}-${number}-${count}`
      const { entry, step } = choose(projects(), name)
      ledger.entries.set(entry.name, entry)
      // Until it is answered, it may or may not have happened.
      entry.doubt = { state: step.next }
      const said = await line.say(step.method, step.path, token, step.body)
      note(said)
      settle(ledger, entry, step, said)
      const contradiction = said.status === step.status ? step.contradiction?.(said.body) : undefined
      if (contradiction !== undefined) ends.set(contradiction, 1)
      options.onWrite?.({
        port: line.port() ?? 0,
        name: entry.name,
        next: step.next,
        done: said.status === step.status,
      })
      if (said.gone !== undefined) {
        line.close()
        if (!options.goesOn) return
        line = openLine(addresses[++at % addresses.length]!)
        await sleep(20)
      }
      // Back off, as the response asks for.
      if (said.status === 503 || said.status === 507) await sleep(20)
    }
    line.close()
  }
  const exchanging = async () => {
    const line = openLine(addresses[0]!)
    while (!stopping && options.app) if (!(await exchangeOne(home, line, ledger, options.app))) break
    line.close()
  }
  const faults: unknown[] = []
  const guarded = (one: Promise<void>) =>
    one.catch((error) => {
      faults.push(error)
      stopping = true
    })
  const mustRun = () => {
    if (faults.length > 0) throw faults[0]
  }
  const lanes = Array.from({ length: options.lanes ?? LANES }, (_, number) => lane(number))
  const ended = Promise.all([...lanes, exchanging()].map(guarded)).then(mustRun)
  // The caller may be busy with the fault when it rejects, and gets the error when it awaits `ended`.
  ended.catch(() => {})
  return {
    ended,
    mustRun,
    stop: () => {
      stopping = true
    },
    ends,
    acknowledgedSince: () => ledger.acknowledged - before,
  }
}

/** `cycle-lane-count`. */
function laneOf(name: string): number {
  return Number(name.split('-').at(-2))
}

/** What an answer makes certain. What says "nothing was stored" must mean it. */
function settle(ledger: Ledger, entry: Entry, step: Step, said: Said): void {
  if (said.status === step.status) {
    entry.states.push(step.next)
    entry.doubt = undefined
    ledger.acknowledged++
    step.read?.(said.body)
    return
  }
  const code = said.body?.error?.code
  // The request never reached the service.
  if (code === 'storage_full' || code === 'busy' || said.gone === 'ECONNREFUSED') entry.doubt = undefined
}

let values = 0

/** A random next write for one of a lane's projects, or for a new one. */
function choose(projects: Entry[], name: string): { entry: Entry; step: Step } {
  const living = projects.filter((entry) => lastOf(entry) !== undefined)
  const full = living.length >= MAX_PROJECTS
  const entry = living[Math.floor(Math.random() * living.length)]
  if (entry === undefined || (!full && Math.random() < 0.25)) return create(name)
  const state = lastOf(entry)!
  const kinds = [update, addEnv, addEnvs, addDomain, pause]
  if (entry.envIds.size > 0) kinds.push(editEnv, removeEnv)
  if (state.domains.length > 0) kinds.push(removeDomain)
  if (full) kinds.push(remove)
  return { entry, step: kinds[Math.floor(Math.random() * kinds.length)]!(entry, state) }
}

type Living = NonNullable<State>

function create(name: string): { entry: Entry; step: Step } {
  const build = `make ${values++}`
  const next = { build, paused: false, env: {}, domains: [] }
  const step = { method: 'POST', path: '/v10/projects', body: { name, buildCommand: build }, status: 200, next }
  return { entry: { name, states: [undefined], envIds: new Map() }, step }
}

function update({ name }: Entry, state: Living): Step {
  const build = `make ${values++}`
  const next = { ...state, build }
  return { method: 'PATCH', path: `/v9/projects/${name}`, body: { buildCommand: build }, status: 200, next }
}

function addEnv(entry: Entry, state: Living): Step {
  const value = `v${values++}`
  const key = `K${value}`
  return {
    method: 'POST',
    path: `/v10/projects/${entry.name}/env`,
    body: { key, value, comment: value, type: 'encrypted', target: ['production', 'preview'] },
    status: 201,
    next: { ...state, env: { ...state.env, [key]: value } },
    read: (body) => entry.envIds.set(key, body.created.id),
  }
}

/** Two at once, with one whose place is taken when there is any: what is answered as created is there whole, or none of it. */
function addEnvs(entry: Entry, state: Living): Step {
  const fresh = [`v${values++}`, `v${values++}`].map((value) => ({ key: `K${value}`, value }))
  const taken = [...entry.envIds.keys()].slice(0, 1).map((key) => ({ key, value: 'never' }))
  const one = { type: 'encrypted', target: ['production', 'preview'] }
  return {
    method: 'POST',
    path: `/v10/projects/${entry.name}/env`,
    body: [...fresh, ...taken].map((item) => ({ ...item, ...one, comment: item.value })),
    status: 201,
    next: { ...state, env: { ...state.env, ...Object.fromEntries(fresh.map(({ key, value }) => [key, value])) } },
    read: (body) => {
      for (const { key, id } of body.created) entry.envIds.set(key, id)
    },
    contradiction: (body) => {
      const keysOf = (all: { key: string }[]) => all.map(({ key }) => key).join(' and ')
      const created = keysOf(body.created)
      const failed = keysOf(body.failed.map(({ error }: { error: { key: string } }) => error))
      return created === keysOf(fresh) && failed === keysOf(taken)
        ? undefined
        : `of a batch, created: ${created}; failed: ${failed}; wanted: ${keysOf(fresh)}; ${keysOf(taken)}`
    },
  }
}

function editEnv({ name, envIds }: Entry, state: Living): Step {
  const [key, id] = someOf([...envIds])
  const value = `v${values++}`
  const path = `/v9/projects/${name}/env/${id}`
  const next = { ...state, env: { ...state.env, [key]: value } }
  return { method: 'PATCH', path, body: { value, comment: value }, status: 200, next }
}

function removeEnv({ name, envIds }: Entry, state: Living): Step {
  const [key, id] = someOf([...envIds])
  const { [key]: _, ...env } = state.env
  const read = () => envIds.delete(key)
  return { method: 'DELETE', path: `/v9/projects/${name}/env/${id}`, status: 200, next: { ...state, env }, read }
}

function addDomain({ name }: Entry, state: Living): Step {
  const domain = `d${values++}.${name}.example.com`
  const next = { ...state, domains: [...state.domains, domain] }
  return { method: 'POST', path: `/v10/projects/${name}/domains`, body: { name: domain }, status: 200, next }
}

function removeDomain({ name }: Entry, state: Living): Step {
  const domain = someOf(state.domains)
  const next = { ...state, domains: state.domains.filter((other) => other !== domain) }
  return { method: 'DELETE', path: `/v9/projects/${name}/domains/${domain}`, status: 200, next }
}

function pause({ name }: Entry, state: Living): Step {
  const path = `/v1/projects/${name}/${state.paused ? 'unpause' : 'pause'}`
  return { method: 'POST', path, status: 200, next: { ...state, paused: !state.paused } }
}

function remove({ name }: Entry): Step {
  return { method: 'DELETE', path: `/v9/projects/${name}`, status: 204, next: undefined }
}

function someOf<T>(items: T[]): T {
  return items[Math.floor(Math.random() * items.length)]!
}

/** An integration whose codes the load exchanges. */
export async function registerApp(home: ServiceHome, line: Line): Promise<App> {
  const { operatorToken, teamId } = credentialsOf(home)
  const body = { slug: 'helper', name: 'Helper', teamId, redirectUrl: REDIRECT, scopes: ['read-write:project'] }
  const made = await line.say('POST', '/operator/v1/integrations', operatorToken, body)
  if (made.status !== 201) throw new Error(`no integration: ${JSON.stringify(made)}`)
  return made.body
}

/** Installs the app and exchanges the code. False when the service is gone. */
async function exchangeOne(home: ServiceHome, line: Line, ledger: Ledger, app: App): Promise<boolean> {
  const { operatorToken, userId, teamId } = credentialsOf(home)
  const path = `/operator/v1/integrations/${app.id}/installations`
  const installed = await line.say('POST', path, operatorToken, { userId, teamId, projects: 'all' })
  if (installed.gone !== undefined) return false
  if (installed.status !== 201) return true
  ledger.acknowledged++
  const { clientId: client_id, clientSecret: client_secret } = app
  const form = { client_id, client_secret, code: installed.body.code, redirect_uri: REDIRECT }
  const given = await line.say('POST', '/v2/oauth/access_token', undefined, new URLSearchParams(form))
  if (given.gone !== undefined) return false
  if (given.status === 200) {
    ledger.tokens.push(given.body.access_token)
    ledger.acknowledged++
  }
  return true
}
