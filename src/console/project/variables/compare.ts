/** Compares two environments on the server; values are never sent. Values that the user may not read, such as write-only ones, are not compared. */

import type { Static } from 'typebox'
import { state } from '../../../platform/pages/face/states.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../../platform/pages/screen.ts'
import { Type } from '../../../platform/schema/builder.ts'
import type { EnvList, EnvVar } from '../../../projects/env/schema.ts'
import { type Choice, dataTable, select } from '../../fields.ts'
import { findAccountOfPath, projectPage } from '../../frame.ts'
import { readCustomEnvironments } from '../environments.ts'
import { environmentChoices, isIn, listPath, VARIABLES_PATH } from './environments.ts'

const Text = Type.Optional(Type.String({ maxLength: 256 }))
const Sides = Type.Object({ left: Text, right: Text, all: Text })

export const compareScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: `${VARIABLES_PATH}/compare`,
    name: 'compareEnvironments',
    query: Sides,
    noAutoRefresh: true,
    showsSecret: true,
    calls: ['filterProjectEnvs', 'getProjectCustomEnvironments'],
    run: showCompare,
  }),
]

async function showCompare(ctx: ConsoleCtx, { params, query }: ScreenInput<Static<typeof Sides>>) {
  const account = await findAccountOfPath(ctx, params)
  const project = params.name!
  const choices = environmentChoices(await readCustomEnvironments(ctx, account, project))
  const { left = 'production', right = 'preview' } = query
  // Reads plaintext values, so it writes an audit entry.
  const { envs } = await ctx.callRoute<Static<typeof EnvList>>('filterProjectEnvs', {
    account,
    params: { idOrName: project },
    query: { decrypt: 'true' },
  })
  const rows = compare(envs, left, right)
  const different = rows.filter(({ state }) => state !== 'same')
  const shown = query.all ? rows : different
  const label = (side: string) => choices.find(([value]) => value === side)?.[1] ?? side
  return projectPage(ctx, account, project, 'variables', {
    title: 'Compare environments',
    body: html`<div class="head"><h1>Compare environments</h1></div>
${sidesForm(`${listPath(account, project)}/compare`, choices, { ...query, left, right })}
<p role="status">${summary(rows.length, different.length)}</p>
${
  shown.length > 0 &&
  dataTable(
    'Differences',
    ['Key', label(left), label(right), 'Values'],
    shown.map((variable) => row(variable, label(left), label(right))),
  )
}
<p class="soft small">General values only, without branch overrides and shared variables. Values that are write-only, or that your role cannot read, are not compared.</p>`,
  })
}

function sidesForm(path: string, choices: readonly Choice[], query: Static<typeof Sides>): Html {
  return html`<form class="tools" action="${path}">
<div>${select('left', 'First environment', choices, { value: query.left })}</div>
<div>${select('right', 'Second environment', choices, { value: query.right })}</div>
<div>${select(
    'all',
    'Show',
    [
      ['', 'Differences'],
      ['1', 'All keys'],
    ],
    { value: query.all },
  )}</div>
<button class="btn">Compare</button>
</form>`
}

type State = 'same' | 'different' | 'write-only' | 'unknown' | 'left' | 'right'
type Compared = { key: string; state: State }

/** One row per key. Contains no values. */
function compare(envs: readonly EnvVar[], left: string, right: string): Compared[] {
  const general = envs.filter(({ gitBranch }) => gitBranch === undefined)
  const of = (side: string) =>
    new Map(general.filter((variable) => isIn(variable, side)).map((variable) => [variable.key, variable] as const))
  const [lefts, rights] = [of(left), of(right)]
  const keys = [...new Set([...lefts.keys(), ...rights.keys()])].sort()
  return keys.map((key) => ({ key, state: stateOf(lefts.get(key), rights.get(key)) }))
}

function stateOf(left: EnvVar | undefined, right: EnvVar | undefined): State {
  if (left === undefined) return 'right'
  if (right === undefined) return 'left'
  // The same variable in both environments.
  if (left.id === right.id) return 'same'
  if (left.type === 'sensitive' || right.type === 'sensitive') return 'write-only'
  if (!isRead(left) || !isRead(right)) return 'unknown'
  return left.value === right.value ? 'same' : 'different'
}

/** Hidden values are placeholders. */
function isRead({ decrypted }: EnvVar): boolean {
  return decrypted
}

/** TABLE Comparison results: labels. */
const LABELS: Record<State, string> = {
  same: 'Same',
  different: 'Different',
  'write-only': 'Write-only',
  unknown: 'Not readable by you',
  left: 'Only in one',
  right: 'Only in one',
}

function row({ key, state: found }: Compared, left: string, right: string): Html {
  const side = (name: string, isMissing: boolean) =>
    isMissing ? state('warn', html`not in ${name}`) : state('good', html`in ${name}`)
  return html`<tr><td><code>${key}</code></td><td>${side(left, found === 'right')}</td><td>${side(right, found === 'left')}</td><td>${LABELS[found]}</td></tr>`
}

function summary(all: number, different: number): string {
  if (all === 0) return 'No variables in either environment.'
  if (different === 0) return `All ${all} keys are the same.`
  return `${different} of ${all} keys ${different === 1 ? 'differs' : 'differ'} or can't be compared.`
}
