/**
 * kill -9 of the sites server, of processes of functions, of those around them and of the network of a project, while visitors ask: each visitor gets one
 * error at most, no answer of another request, and nothing stays. docs/functions.md: Processes; docs/sandbox.md: Life of a run.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningService } from '../support/process.ts'
import { root } from '../support/root.ts'
import { becomesTrue } from './deploys.ts'
import { type Fault, type Found, type Run, repeat } from './fault.ts'
import { type Kind, leftBelow, mountsWith, openPlace, type Place, whyNoSandbox } from './function-place.ts'
import { startVisitors, type Visitors } from './function-visitors.ts'
import { aboveUpTo, isAlive, killProcess, namespaceOf, type Process, readProcesses, treeOf } from './process-trees.ts'

export const functionKills: Fault = {
  name: 'kill -9 under functions',
  engines: ['sqlite'],
  run: (run) => killAgainAndAgain(run, 'trusted'),
}

export const sandboxedKills: Fault = {
  name: 'kill -9 under functions in a network',
  engines: ['postgres'],
  cannot: whyNoSandbox,
  run: (run) => killAgainAndAgain(run, 'sandboxed'),
}

export const functionControls: Fault = {
  name: 'kill -9 under functions, control',
  engines: ['sqlite'],
  run: mustBeSeen,
}

/** Bad ends of one function after which its next start would wait: `src/sites/functions/plan.ts`. */
const ENDS_IN_A_ROW = 4
const PATIENCE_MS = 120_000
/** Processes that were met by their id and start: what stays of them is looked for at the end. */
type Met = Map<string, Process>

/** `ends`: what must end with it. `marks`: of the functions whose visitors may get an error. */
type Victim = { name: string; pid: number; ends: Process[]; marks: Set<string> }

type Drill = {
  place: Place
  sites: RunningService
  origin: Promise<string>
  visitors: Visitors
  met: Met
  /** How often each function was ended since the start of the sites server. */
  ended: Map<string, number>
  kills: Map<string, number>
}

async function killAgainAndAgain(run: Run, kind: Kind): Promise<void> {
  const drill = await openDrill(await openPlace(run, kind))
  await repeat(run, run.short ? 8 : 500, (at) => killOne(drill, `kill ${at + 1}`))
  run.found.acknowledged += drill.visitors.answered()
  const kills = [...drill.kills].map(([name, times]) => `${times} of ${name}`)
  run.found.notes.push(`killed: ${kills.join(', ')}; ${drill.met.size} processes were met`)
  await closeDrill(drill)
}

/** Starts a sites server and its visitors, once all functions answer. `script`: as of `Place`. */
async function openDrill(place: Place, script?: string): Promise<Drill> {
  const sites = await place.start(script)
  let drill = undefined as Drill | undefined
  const origin = () => drill?.origin ?? Promise.resolve(sites.address)
  drill = {
    ...{ place, sites, origin: Promise.resolve(sites.address), met: new Map() },
    ...{ ended: new Map(), kills: new Map(), visitors: startVisitors(place.functions, origin) },
  }
  // The first one installs Node.js.
  await untilAnswered(drill, 1, 5 * PATIENCE_MS)
  return drill
}

async function closeDrill(drill: Drill): Promise<void> {
  const { place, visitors, sites, met } = drill
  const { found } = place.run
  await visitors.stop()
  const running = treeOf(readProcesses(), sites.child.pid!)
  meet(met, running)
  if (place.kind === 'sandboxed' && !running.some(({ pid }) => mountsWith(place.folder, pid).length > 0))
    found.broken.push('no process had a mount of functions: the look at mounts finds nothing')
  await stopInOrder(drill)
  await mustEnd(found, [...met.values()], 'after all')
  const { runs, sockets } = leftBelow(place.folder)
  if (runs.length + sockets.length > 0) found.broken.push(`directories or sockets stayed: ${[...runs, ...sockets]}`)
  const mounts = mountsWith(place.folder)
  if (mounts.length > 0) found.broken.push(`mounts stayed: ${mounts}`)
  for (const { pid, words } of readProcesses().values()) {
    const isOurs = words.some((word) => word.includes(place.folder)) || mountsWith(place.folder, pid).length > 0
    if (isOurs) found.broken.push(`${pid} stayed, or is in a namespace of functions: ${words.join(' ').slice(0, 300)}`)
  }
  await place.control.kill('SIGTERM')
}

/** A stop that takes longer than it may leaves directories to the next start. */
async function stopInOrder({ place, sites }: Drill): Promise<void> {
  const { found } = place.run
  for (let running = sites; ; running = await place.start()) {
    if ((await running.kill('SIGTERM')) !== 0) found.broken.push('SIGTERM did not end the sites server in order')
    if (!(running.out() + running.err()).includes('did not end in time')) return
    found.notes.push('a stop of the sites server took longer than it may')
  }
}

async function killOne(drill: Drill, when: string): Promise<void> {
  const { place, visitors } = drill
  const { found } = place.run
  await untilAnswered(drill, 2)
  // At any time of a request.
  await sleep(Math.random() * 60)
  const victim = chooseVictim(drill)
  meet(drill.met, victim.ends)
  drill.kills.set(victim.name, (drill.kills.get(victim.name) ?? 0) + 1)
  for (const mark of victim.marks) drill.ended.set(mark, (drill.ended.get(mark) ?? 0) + 1)
  visitors.begin()
  const before = performance.now()
  if (victim.pid === drill.sites.child.pid) await restart(drill)
  else killProcess(victim.pid)
  await untilAnswered(drill, 2)
  found.recoveriesMs.push(performance.now() - before)
  await mustEnd(found, victim.ends, `${when} of ${victim.name}`)
  for (const { asked, errors } of visitors.seen) {
    const most = victim.marks.has(asked.mark) ? 1 : 0
    if (errors.length > most)
      found.broken.push(`${when} of ${victim.name}: a visitor of ${asked.path} got ${errors.join(', ')}`)
  }
  for (const one of visitors.foreign.splice(0)) found.broken.push(`${when}: an answer of another request: ${one}`)
}

async function restart(drill: Drill): Promise<void> {
  const { sites, place, ended } = drill
  const next = Promise.withResolvers<string>()
  drill.origin = next.promise
  await sites.kill('SIGKILL')
  ended.clear()
  drill.sites = await place.start()
  next.resolve(drill.sites.address)
  const own = `.${drill.sites.child.pid}.`
  const others = leftBelow(place.folder).runs.filter((name) => !name.includes(own))
  if (others.length > 0) place.run.found.broken.push(`a start left directories of a server that was killed: ${others}`)
}

/** Waits until each visitor has so many complete answers. */
async function untilAnswered({ visitors, sites }: Drill, many: number, longestMs = PATIENCE_MS): Promise<void> {
  const until = performance.now() + longestMs
  while (!visitors.seen.every(({ answers }) => answers >= many)) {
    if (performance.now() > until) {
      const waiting = visitors.seen.filter(({ answers }) => answers < many)
      throw new Error(`no answers: ${JSON.stringify(waiting)}\n${sites.out()}${sites.err()}`)
    }
    await sleep(5)
  }
}

/** Waits until these have ended, and ends those that stay. */
export async function mustEnd(found: Found, all: readonly Process[], when: string): Promise<void> {
  const left = () => all.filter(isAlive)
  await becomesTrue(() => left().length === 0, PATIENCE_MS).catch(() => {})
  for (const one of left()) {
    found.broken.push(`${when}: ${one.pid} stayed: ${one.words.join(' ').slice(0, 300)}`)
    killProcess(one.pid)
  }
}

function meet(met: Met, some: readonly Process[]): void {
  for (const one of some) met.set(`${one.pid} ${one.start}`, one)
}

/** Mostly a process of a function, whose next start does not have to wait; then one around it, a network, or the sites server. */
function chooseVictim(drill: Drill): Victim {
  const { sites, place, ended } = drill
  const all = readProcesses()
  const top = sites.child.pid!
  const everything = () => {
    const ends = treeOf(all, top)
    return { name: 'the sites server', pid: top, ends, marks: new Set(place.functions.map(({ mark }) => mark)) }
  }
  const chance = Math.random()
  if (chance < 0.15) return everything()
  const launchers = treeOf(all, top).filter(isLauncher)
  const victims = launchers.map((launcher) => victimOf(all, launcher, top, chance, place))
  const free = victims.filter(({ marks }) => [...marks].every((mark) => (ended.get(mark) ?? 0) < ENDS_IN_A_ROW))
  return free[Math.floor(Math.random() * free.length)] ?? everything()
}

function isLauncher({ words }: Process): boolean {
  return words[2]?.endsWith('/main.mjs') === true
}

function victimOf(
  all: ReadonlyMap<number, Process>,
  launcher: Process,
  top: number,
  chance: number,
  { functions, kind }: Place,
): Victim {
  const above = aboveUpTo(all, launcher.pid, top)
  const tree = treeOf(all, above.at(-1)?.pid ?? launcher.pid)
  const of = (name: string, pid: number, ends: Process[]): Victim => {
    const words = new Set(ends.flatMap((one) => one.words))
    return { name, pid, ends, marks: new Set(functions.map(({ mark }) => mark).filter((mark) => words.has(mark))) }
  }
  if (chance < 0.3 && kind === 'sandboxed') {
    const network = namespaceOf(launcher.pid, 'net')
    const own = [...all.values()].filter(({ parent }) => parent === top).map(({ pid }) => treeOf(all, pid))
    const inside = own.filter((one) => one.some(({ pid }) => namespaceOf(pid, 'net') === network))
    const holder = inside.find(([first]) => first!.words[0]?.includes('pasta'))
    if (holder !== undefined) return of('a network', holder[0]!.pid, inside.flat())
  }
  if (chance < 0.5 && above.length > 0)
    return of('what is around a function', above[Math.floor(Math.random() * above.length)]!.pid, tree)
  return of('a function', launcher.pid, tree)
}

/** The controls: functions that mix their requests up, and a sites server whose processes do not watch it, are found by the same looks. */
async function mustBeSeen(run: Run): Promise<void> {
  const place = await openPlace(run, 'trusted', true)
  const unwatched = await openDrill(place, join(root, 'test/faults/unwatched.ts'))
  const all = treeOf(readProcesses(), unwatched.sites.child.pid!)
  await unwatched.sites.kill('SIGKILL')
  unwatched.origin = new Promise(() => {})
  // Launchers end with their connection.
  await becomesTrue(() => !all.filter(isLauncher).some(isAlive))
  const left = all.filter(isAlive)
  for (const { pid } of left) killProcess(pid)
  const mixed = await openDrill(place)
  await becomesTrue(() => mixed.visitors.foreign.length > 0).catch(() => {})
  run.found.notes.push(
    `without the watched pipe ${left.length} processes stayed, and of functions that mix requests up ${mixed.visitors.foreign.length} answers were of others, as it must be`,
  )
  if (left.length === 0)
    run.found.broken.push('without the watched pipe nothing stayed: the look at processes finds nothing')
  if (mixed.visitors.foreign.length === 0)
    run.found.broken.push('no answer was of another request: the nonces find nothing')
  run.found.cycles = 1
  await closeDrill(mixed)
}
