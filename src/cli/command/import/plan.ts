/** What an import would do, as steps, and what came of it. docs/moving-in.md. */
import { ServiceError } from '../service-client.ts'

export const IMPORT_KINDS = ['project', 'environment', 'variable', 'domain', 'webhook', 'drain', 'member'] as const
type Kind = (typeof IMPORT_KINDS)[number]
export type Failure = { what: string; message: string }

/** Something to be made or changed here. `names`: each thing, as a person knows it. */
export type Step = {
  kind: Kind
  action: 'create' | 'change'
  names: string[]
  /** Does it, and gives what was refused. */
  run(report: AccountImportReport): Promise<Failure[]>
}

/** `same`: how many things are here already, just so. `todo`: what a person has to do by hand. */
export type AccountImportPlan = { steps: Step[]; same: Partial<Record<Kind, number>>; todo: string[] }

type Counts = { created: number; changed: number; unchanged: number; failed: number }
export type AccountImportReport = { counts: Record<Kind, Counts>; failed: Failure[]; todo: string[]; changes: string[] }

/** Changes to things that are here already are told one by one, up to so many. */
const MAX_CHANGES = 200

/** A report in which nothing was counted yet. */
export function newAccountImportReport(): AccountImportReport {
  const none = (): Counts => ({ created: 0, changed: 0, unchanged: 0, failed: 0 })
  const counts = Object.fromEntries(IMPORT_KINDS.map((kind) => [kind, none()])) as AccountImportReport['counts']
  return { counts, failed: [], todo: [], changes: [] }
}

/** Counts a plan as if all of it came about. */
export function addPlan(report: AccountImportReport, { steps, same, todo }: AccountImportPlan): void {
  for (const { kind, action, names } of steps) {
    report.counts[kind][action === 'create' ? 'created' : 'changed'] += names.length
    if (action === 'create') continue
    for (const name of names) if (report.changes.length < MAX_CHANGES) report.changes.push(`${kind} ${name}`)
  }
  addSame(report, same, todo)
}

/** Does what a plan says, step by step, and counts what came about. Of a project that could not be made nothing else is tried. */
export async function runPlan(report: AccountImportReport, { steps, same, todo }: AccountImportPlan): Promise<void> {
  addSame(report, same, todo)
  let isAbsent = false
  for (const step of steps) {
    if (isAbsent) {
      report.counts[step.kind].failed += step.names.length
      continue
    }
    const failed = await step.run(report)
    isAbsent = step.kind === 'project' && step.action === 'create' && failed.length > 0
    const counts = report.counts[step.kind]
    counts[step.action === 'create' ? 'created' : 'changed'] += step.names.length - failed.length
    counts.failed += failed.length
    report.failed.push(...failed)
  }
}

function addSame(report: AccountImportReport, same: AccountImportPlan['same'], todo: readonly string[]): void {
  for (const [kind, count] of Object.entries(same)) report.counts[kind as Kind].unchanged += count
  report.todo.push(...todo)
}

/** Refusals of what was asked, rather than of whoever asked. */
const OF_THE_THING = [400, 402, 403, 409, 413, 422, 428]

/** What was answered, or the sentence of a refusal of this one thing. Throws what says no to the import itself. */
export async function tryRequest(send: () => Promise<unknown>): Promise<{ answer: unknown } | { message: string }> {
  try {
    return { answer: await send() }
  } catch (error) {
    return { message: refusalOf(error) }
  }
}

function refusalOf(error: unknown): string {
  if (error instanceof ServiceError && OF_THE_THING.includes(error.status)) return error.message
  throw error
}

/**
 * Sends many together. Where they are refused, halves are sent until those that are refused stand alone, so that the others arrive.
 * Gives the refused ones. `nameOf`: what a person calls one.
 */
export async function sendBisecting<T>(
  items: readonly T[],
  nameOf: (item: T) => string,
  send: (items: readonly T[]) => Promise<Failure[]>,
): Promise<Failure[]> {
  if (items.length === 0) return []
  try {
    return await send(items)
  } catch (error) {
    const message = refusalOf(error)
    if (items.length === 1) return [{ what: nameOf(items[0]!), message }]
    const half = items.length >> 1
    const first = await sendBisecting(items.slice(0, half), nameOf, send)
    return [...first, ...(await sendBisecting(items.slice(half), nameOf, send))]
  }
}
