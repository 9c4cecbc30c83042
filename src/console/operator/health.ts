/** What `berth doctor` says, of the running service. */
import type { Static } from 'typebox'
import type { Health } from '../../doctor/routes.ts'
import type { Page } from '../../pages/frame.ts'
import { html } from '../../pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen } from '../../pages/screen.ts'
import { heading } from '../controls.ts'
import { sheet } from '../fields.ts'
import { operatorPage, operatorPath } from './frame.ts'

export const healthScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: operatorPath('health'),
    name: 'showHealth',
    asks: ['operatorGetHealth'],
    fresh: true,
    run: showHealth,
  }),
]

/** TABLE how a finding looks, and its word. */
const LOOKS = { well: ['good', 'Well'], worry: ['warn', 'Look at it'], wrong: ['bad', 'Wrong'] } as const

async function showHealth(ctx: ConsoleCtx): Promise<Page> {
  const { well, findings } = await ctx.ask<Static<typeof Health>>('operatorGetHealth')
  const worst = ['wrong', 'worry', 'well']
  const sorted = findings.toSorted((a, b) => worst.indexOf(a.is) - worst.indexOf(b.is))
  return operatorPage(ctx, 'health', {
    title: 'Health',
    body: html`${heading('Health', html`<span class="state ${well ? 'good' : 'bad'}">${well ? 'Nothing is wrong' : 'Something is wrong'}</span>`)}
${sheet(
  'Findings',
  ['What', 'State', 'Found'],
  sorted.map(({ about, is, found, advice }) => {
    const [look, word] = LOOKS[is]
    return html`<tr><td>${about}</td><td><span class="state ${look}">${word}</span></td><td>${found}${advice && html`<br><strong>${advice}</strong>`}</td></tr>`
  }),
  { none: 'Nothing was checked.' },
)}`,
  })
}
