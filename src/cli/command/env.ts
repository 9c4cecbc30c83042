/** `berth env import` and `berth env export`: `.env` files of a project, through the public API. */

import { resolve } from 'node:path'
import type { Config } from '../../config.ts'
import { writeFileAtomically } from '../../platform/adapters/atomic-file.ts'
import { readText } from '../../platform/adapters/file-errors.ts'
import { pluralize } from '../../platform/base/text.ts'
import { chunksByWeight } from '../../platform/db/chunks.ts'
import { parseDotenv, reasonLeftOut, writeDotenv } from '../../projects/env-files/dotenv.ts'
import { BadUsage, type CommandResult, type Invocation } from '../command-line/command.ts'
import {
  callService,
  type LineError,
  queryText,
  ServiceError,
  type ServiceRequest,
  servicePath,
} from './service-client.ts'

/** Variables per request, and their bytes: the service accepts 1 MiB. */
const SLICE = 100
const SLICE_BYTES = 512 * 1024

/** The lines of one variable. */
type Piece = { key: string; line: number; text: string }
type Counts = {
  added: number
  updated: number
  unchanged: number
  skipped: string[]
  failed: { key: string; message: string }[]
}

/**
 * Imports a .env file in slices, each atomic. A dry run of all slices finds invalid lines first; with any, it reports all of them and changes nothing.
 * A slice that conflicts with existing variables is bisected, so that the others are written. Exits with 1 when some failed. Prints keys, never
 * values.
 */
export async function importCommand(invocation: Invocation): Promise<CommandResult> {
  const { value, progress } = invocation
  const file = value('file')!
  const pieces = piecesOf(file, readText(file))
  const counts: Counts = { added: 0, updated: 0, unchanged: 0, skipped: [], failed: [] }
  const config = invocation.settings()
  const slices = chunksByWeight(pieces, ({ text }) => Buffer.byteLength(text), SLICE_BYTES, SLICE)
  await mustBeRight(config, invocation, file, slices)
  let sent = 0
  for (const slice of slices) {
    await sendSlice(config, invocation, slice, counts)
    sent += slice.length
    progress.show('importing', sent, pieces.length)
  }
  const { added, updated, unchanged, skipped, failed } = counts
  const planned = invocation.has('dry-run') ? 'would be ' : ''
  const text = `${planned}added ${added}, ${planned}updated ${updated}, unchanged ${unchanged}, failed ${failed.length}`
  const warnings = skipped.map((key) => `${key} is skipped: the platform sets it`)
  warnings.push(...failed.map(({ key, message }) => `${key}: ${message}`))
  if (pieces.length === 0) warnings.push(`${file === '-' ? 'stdin' : file} holds no variable`)
  return {
    data: { added, updated, unchanged, ...(skipped.length > 0 && { skipped }), failed },
    text,
    warnings,
    code: failed.length === 0 ? 0 : 1,
  }
}

/** Splits a text into the lines of each variable. Throws, naming every bad line, before any request. */
function piecesOf(file: string, text: string): Piece[] {
  const { entries, bad } = parseDotenv(text)
  if (bad.length > 0) {
    const sentences = bad.slice(0, 10).map(({ line, message }) => `${file}:${line} ${message}`)
    throw new Error(`${sentences.join('\n')}\nnothing was sent`)
  }
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)
  return entries.map(({ key, line }, at) => ({
    key,
    line,
    text: `${lines.slice(line - 1, (entries[at + 1]?.line ?? lines.length + 1) - 1).join('\n')}\n`,
  }))
}

/** Throws, naming every line that the service rejects as invalid. Other errors are reported later. */
async function mustBeRight(
  config: Config,
  invocation: Invocation,
  file: string,
  slices: readonly Piece[][],
): Promise<void> {
  const wrong: LineError[] = []
  for (const slice of slices) {
    const plan = await send(config, invocation, slice, true).catch((error) => {
      if (error instanceof ServiceError && isOfTheVariables(error)) return error
      throw error
    })
    const before = slice[0]!.line - 1
    if (plan instanceof ServiceError)
      wrong.push(...(plan.lines ?? []).map(({ line, message }) => ({ line: before + line, message })))
  }
  if (wrong.length === 0) return
  const sentences = wrong.slice(0, 10).map(({ line, message }) => `${file}:${line} ${message}`)
  throw new Error(`${sentences.join('\n')}\nnothing was changed`)
}

async function sendSlice(config: Config, invocation: Invocation, slice: Piece[], counts: Counts): Promise<void> {
  try {
    const { plan } = await send(config, invocation, slice, invocation.has('dry-run'))
    counts.added += plan.created.length
    counts.updated += plan.updated.length
    counts.unchanged += plan.unchanged.length
    counts.skipped.push(...(plan.skipped ?? []))
  } catch (error) {
    if (!(error instanceof ServiceError) || !isOfTheVariables(error)) throw error
    const half = slice.length >> 1
    if (half === 0) counts.failed.push({ key: slice[0]!.key, message: error.message })
    else for (const part of [slice.slice(0, half), slice.slice(half)]) await sendSlice(config, invocation, part, counts)
  }
}

async function send(config: Config, invocation: Invocation, slice: Piece[], isDry: boolean): Promise<Planned> {
  const { value, all } = invocation
  const query = queryText({
    mode: 'merge',
    target: all('target').join(','),
    gitBranch: value('git-branch'),
    type: value('type'),
    dryRun: isDry ? 'true' : undefined,
    ...teamOf(invocation),
  })
  const path = servicePath('/v1/projects', [value('project'), 'env']) + query
  const body = slice.map(({ text }) => text).join('')
  return (await callService(config, { method: 'PUT', path, body, as: 'client' })) as Planned
}

type Planned = { plan: { created: string[]; updated: string[]; unchanged: string[]; skipped?: string[] } }

/** Whether an error is about some variables, not the caller or the project. */
function isOfTheVariables({ code, lines }: ServiceError): boolean {
  return lines !== undefined || code === 'MAX_ENVS_EXCEEDED' || code === 'ENV_ALREADY_EXISTS'
}

/** Prints the variables of a target, or writes them to a private file. */
export async function exportCommand(invocation: Invocation): Promise<CommandResult> {
  const { value } = invocation
  const branch = value('git-branch')
  if (branch !== undefined && value('target') !== 'preview')
    throw new BadUsage(`--git-branch is for --target preview: ${value('target')} has no variables of a branch`)
  const path = servicePath('/v3/env/pull', [
    value('project'),
    value('target'),
    ...(branch === undefined ? [] : [branch]),
  ])
  const asking: ServiceRequest = { method: 'GET', path: path + queryText(teamOf(invocation)), as: 'client' }
  const { env, omitted } = (await callService(invocation.settings(), asking)) as Pulled
  const warnings = omitted.map((key) => `${key} is left out: its value cannot be read`)
  for (const [key, value] of Object.entries(env)) {
    const reason = reasonLeftOut(value)
    if (reason !== undefined) warnings.push(`${key} is left out: ${reason}`)
  }
  const text = writeDotenv(env, omitted)
  const out = value('out')
  if (out === undefined) return { data: { variables: env, omitted }, text, exact: true, warnings }
  writeFileAtomically(resolve(out), text)
  const count = Object.keys(env).length
  return { data: { file: out, count, omitted }, text: `${out}: ${pluralize(count, 'variable')}`, warnings }
}
type Pulled = { env: Record<string, string>; omitted: string[] }

function teamOf({ value }: Invocation): Record<string, string | undefined> {
  const team = value('team')
  return { [team?.startsWith('team_') ? 'teamId' : 'slug']: team }
}
