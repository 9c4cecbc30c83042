/** The steps of an import, and their results. docs/moving-in.md. */
import { ServiceError } from '../service-client.ts'

export const IMPORT_KINDS = ['project', 'environment', 'variable', 'domain', 'webhook', 'drain', 'member'] as const
type Kind = (typeof IMPORT_KINDS)[number]
export type Failure = { what: string; message: string }

/** An object to create or update. `names`: each object, for users. */
export type Step = {
  kind: Kind
  action: 'create' | 'change'
  names: string[]
  /** Runs it and returns the failures. */
  run(report: AccountImportReport): Promise<Failure[]>
}

/** `same`: the number of identical objects. `todo`: manual steps of the user. */
export type AccountImportPlan = { steps: Step[]; same: Partial<Record<Kind, number>>; todo: string[] }

type Counts = { created: number; changed: number; unchanged: number; failed: number }
export type AccountImportReport = { counts: Record<Kind, Counts>; failed: Failure[]; todo: string[]; changes: string[] }

/** Reported changes to existing objects. */
const MAX_CHANGES = 200

/** Returns an empty report. */
export function newAccountImportReport(): AccountImportReport {
  const none = (): Counts => ({ created: 0, changed: 0, unchanged: 0, failed: 0 })
  const counts = Object.fromEntries(IMPORT_KINDS.map((kind) => [kind, none()])) as AccountImportReport['counts']
  return { counts, failed: [], todo: [], changes: [] }
}

/** Counts a plan as if all of it succeeded. */
export function addPlan(report: AccountImportReport, { steps, same, todo }: AccountImportPlan): void {
  for (const { kind, action, names } of steps) {
    report.counts[kind][action === 'create' ? 'created' : 'changed'] += names.length
    if (action === 'create') continue
    for (const name of names) if (report.changes.length < MAX_CHANGES) report.changes.push(`${kind} ${name}`)
  }
  addSame(report, same, todo)
}

/** Runs a plan step by step and counts the results. After a failed project creation it skips the rest of the project. */
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

/** Errors about the object, not the caller. */
const OF_THE_THING = [400, 402, 403, 409, 413, 422, 428]

/** Returns the response, or the message of an error about this object. Throws errors that stop the import. */
export async function tryRequest(send: () => Promise<unknown>): Promise<{ answer: unknown } | { message: string }> {
  try {
    return { answer: await send() }
  } catch (error) {
    return { message: refusalOf(error) }
  }
}

/** Sends a request and returns the failure of `what`, if any. Throws as `tryRequest`. */
export async function failuresOf(what: string, send: () => Promise<unknown>): Promise<Failure[]> {
  const done = await tryRequest(send)
  return 'answer' in done ? [] : [{ what, message: done.message }]
}

function refusalOf(error: unknown): string {
  if (error instanceof ServiceError && OF_THE_THING.includes(error.status)) return error.message
  throw error
}

/** Sends many objects together. On an error it bisects, so that the valid ones are written. Returns the failed ones. `nameOf`: the name for users. */
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
