/** A routing worker from the pool's side: its loaded sites, its current question and the time limit. */
import type { Worker } from 'node:worker_threads'
import type { FromWorker, Question, ToWorker } from './messages.ts'

/** A question about a site, with the manifest in case the thread has not loaded it. */
export type Task = { site: string; manifest: string; question: Question }

export type RoutingThread = {
  isBusy(): boolean
  begin(task: Task): void
  terminate(): Promise<unknown>
}

export type ThreadEvents = {
  loaded(micros: number): void
  answered(answer: Exclude<FromWorker, { loaded: true; micros: number }>): void
  ended(): void
}

/** Processor time for one question, and for loading a site. */
const QUESTION_MS = 50
const LOADING_MS = 1000
const LOOK_EVERY_MS = 10
const MAX_SITES = 500
const MAX_CHARACTERS = 64 * 1024 ** 2

type State = {
  worker: Worker
  ended: () => void
  /** Manifest characters by site, most recently used last. */
  sites: Map<string, number>
  task: Task | undefined
  timer: NodeJS.Timeout | undefined
}

/** Wraps a worker that was just started. */
export function openThread(worker: Worker, { loaded, answered, ended }: ThreadEvents): RoutingThread {
  const state: State = { worker, ended, sites: new Map(), task: undefined, timer: undefined }
  worker.unref()
  worker.on('message', (message: FromWorker) => {
    if (state.task === undefined) return
    if ('loaded' in message) {
      loaded(message.micros)
      ask(state, state.task)
    } else {
      rest(state)
      answered(message)
    }
  })
  worker.on('error', ended)
  worker.on('exit', ended)
  return {
    isBusy: () => state.task !== undefined,
    begin: (task) => begin(state, task),
    terminate() {
      rest(state)
      return worker.terminate()
    },
  }
}

function rest(state: State): void {
  clearTimeout(state.timer)
  state.timer = undefined
  state.task = undefined
}

function begin(state: State, task: Task): void {
  const { sites } = state
  state.task = task
  const isLoaded = sites.delete(task.site)
  sites.set(task.site, task.manifest.length)
  if (isLoaded) ask(state, task)
  else {
    dropOldest(state)
    post(state, { type: 'load', site: task.site, manifest: task.manifest })
    limit(state, LOADING_MS)
  }
}

function ask(state: State, { site, question }: Task): void {
  post(state, { type: 'ask', site, question })
  limit(state, QUESTION_MS)
}

/** The newest site stays, regardless of its size. */
function dropOldest(state: State): void {
  const { sites } = state
  let characters = [...sites.values()].reduce((sum, size) => sum + size, 0)
  for (const [site, size] of sites) {
    if (sites.size === 1 || (sites.size <= MAX_SITES && characters <= MAX_CHARACTERS)) return
    sites.delete(site)
    characters -= size
    post(state, { type: 'drop', site })
  }
}

function post({ worker }: State, message: ToWorker): void {
  worker.postMessage(message)
}

type Watch = { state: State; maxMs: number; first: number | undefined }

function limit(state: State, maxMs: number): void {
  clearTimeout(state.timer)
  const watch: Watch = { state, maxMs, first: undefined }
  state.timer = setTimeout(poll, LOOK_EVERY_MS, watch)
}

/** Polls the processor time of the worker. Most questions finish before the first poll. */
async function poll(watch: Watch): Promise<void> {
  const { state, maxMs } = watch
  const { timer } = state
  const { user, system } = await state.worker.cpuUsage().catch(() => ({ user: 0, system: 0 }))
  // The question has finished, and the worker may have another one.
  if (timer === undefined || state.timer !== timer) return
  watch.first ??= user + system
  if (user + system - watch.first > (maxMs - LOOK_EVERY_MS) * 1000) state.ended()
  else state.timer = setTimeout(poll, LOOK_EVERY_MS, watch)
}
