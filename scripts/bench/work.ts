/** Measures a case: the service, the bare server, and those it is compared with, in turns. */
import { Agent } from 'node:http'
import { imitate, send } from './ask.ts'
import { type Asked, fill } from './asked.ts'
import { type Case, CONNECTIONS, type Compared, CREATE, type Engine, NEW_PROJECTS, writesBeside } from './cases.ts'
import { memoryOf, processorTimeOf, type Server } from './children.ts'
import { type Figures, type Loader, runPaced } from './load.ts'
import { alternate, medians, newNames, processorRatios, ratios, type Side, type Spread } from './rounds.ts'
import { makeEmpty, type Opened } from './stores.ts'

/** What runs while cases are measured. A store that this run does not need is not there. */
export type Work = {
  engine: Engine
  loader: Loader
  seconds: number
  say: (line: string) => void
  bare: Server
  stores: { thousand?: Opened | undefined; crowd?: Opened | undefined }
  peer: Opened | undefined
  before: Opened | undefined
}

type Measured = Figures & { memory: number | undefined }
/** `half`: at half of the load that the service bears. */
export type CaseResult = {
  case: Case
  engine: Engine
  connections: number
  service: Measured
  half: Figures | undefined
  others: { name: Compared; figures: Measured; ratio: Spread; processor: Spread | undefined }[]
}

const WRITES_MS = 1000 / 50

/** Measures one case. */
export async function measureCase(work: Work, measured: Case): Promise<CaseResult> {
  const { engine, bare } = work
  const opened = work.stores[measured.store]!
  const connections = CONNECTIONS[engine]
  const goals = measured.goals[engine]!
  // Two cases make projects in one store: the names are new in each.
  const imitated = newNames()
  if (measured.makesProjects) await makeEmpty(opened, imitated, NEW_PROJECTS)
  await imitate(opened.server.origin, bare, questionOf(measured, opened, imitated))
  const names: Compared[] = ['bare']
  if (work.peer && measured.peer) names.push('peer')
  if (work.before) names.push('before')
  if (goals.create !== undefined) names.push('create')
  const openOf = { bare: { ...opened, server: bare }, create: opened, peer: work.peer, before: work.before }
  const opens = [opened, ...names.map((name) => openOf[name]!)]
  const sides: Side[] = [
    sideOf(measured, opened),
    ...names.map((name) => sideOf(variantOf(measured, name), openOf[name]!)),
  ]
  const rounds = await alternate(work, { name: `${engine} ${measured.name}`, connections }, sides)
  const [ours, ...others] = rounds as [Figures[], ...Figures[][]]
  const show = (at: number) => ({ ...medians(rounds[at]!), memory: memoryOf(opens[at]!.server)?.now })
  const half = goals.p99AtHalf === undefined ? undefined : await atHalf(work, sides[0]!, medians(ours), connections)
  return {
    case: measured,
    engine,
    connections,
    service: show(0),
    half,
    others: names.map((name, at) => ({
      name,
      figures: show(at + 1),
      ratio: ratios(ours, others[at]!),
      processor: processorRatios(ours, others[at]!),
    })),
  }
}

/** What another side is asked in this case. */
function variantOf(measured: Case, name: Compared): Case {
  if (name === 'peer') return { ...measured, asked: measured.peer! }
  const { makesProjects: _, ...rest } = measured
  if (name === 'create') return { ...rest, asked: CREATE }
  return name === 'bare' ? rest : measured
}

function sideOf({ asked, store, beside, makesProjects }: Case, opened: Opened): Side {
  const headers = () => ({ authorization: opened.authorization() })
  return {
    origin: opened.server.origin,
    processorTime: () => processorTimeOf(opened.server),
    asked: async () => {
      const names = newNames()
      if (makesProjects) await makeEmpty(opened, names, NEW_PROJECTS)
      return { ...asked(names), headers: headers() }
    },
    ...(beside && { beside: () => write(opened, writesBeside(store)) }),
  }
}

/** A request of the case, another one each time where it makes something. */
function questionOf(measured: Case, opened: Opened, names: string) {
  let i = 0
  const asked: Asked = { ...measured.asked(names), headers: { authorization: opened.authorization() } }
  return () => fill(asked, i++, 0)
}

/** Writes 50 times a second until it is ended. Throws when one was refused. */
function write({ server, authorization }: Opened, writes: Omit<Asked, 'headers'>[]): () => Promise<void> {
  const agent = new Agent({ keepAlive: true })
  const headers = { authorization: authorization() }
  const under = new Set<Promise<void>>()
  let refused: string | undefined
  let i = 0
  const timer = setInterval(() => {
    const asked = { ...writes[i % writes.length]!, headers }
    const one = send(server.origin, fill(asked, i++), agent).then(
      ({ status, body }) => {
        if (status > 299) refused = `${asked.path} answered ${status}: ${body}`
      },
      (error) => {
        refused = String(error)
      },
    )
    under.add(one)
    void one.then(() => under.delete(one))
  }, WRITES_MS)
  return async () => {
    clearInterval(timer)
    await Promise.all(under)
    agent.destroy()
    if (refused !== undefined) throw new Error(`a write during the load was refused: ${refused}`)
  }
}

async function atHalf({ seconds, say }: Work, side: Side, whole: Figures, connections: number): Promise<Figures> {
  const perSecond = Math.round(whole.perSecond / 2)
  say(`at half load: ${perSecond} a second`)
  const end = side.beside?.()
  const seen = await runPaced({ origin: side.origin, asked: await side.asked(), connections, seconds }, perSecond)
  await end?.()
  return seen
}
