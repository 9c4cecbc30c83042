/** What an operator sets up before users come. docs/console.md: Operator. */
import type { Static } from 'typebox'
import type { Setup, SetupStep } from '../../../operations/operator/setup.ts'
import { glyph } from '../../../platform/pages/face/states.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import type { ConsoleCtx } from '../../../platform/pages/screen.ts'
import { withInlineCode } from '../../advice-commands.ts'
import { button } from '../../controls.ts'
import { operatorPath } from '../frame.ts'

/** `to`: where it is seen or done. `skip`: the button for what the service cannot see. */
type Shown = { title: string; open: string; to?: readonly [path: string, words: string]; skip?: string }

/** TABLE Steps: what is missing, and what to do. */
const STEPS: Readonly<Record<SetupStep, Shown>> = {
  backups: {
    title: 'Schedule backups',
    open: 'Backups are made by hand only. Set BERTH_BACKUP_SCHEDULE: docs/backup.md.',
    to: [operatorPath('backups'), 'Backups'],
  },
  keyring: {
    title: 'Copy the keyring',
    open: 'Without its keyring no value of the database can be read. Keep a copy on another machine: docs/variables.md.',
    to: [operatorPath('keys'), 'Keys'],
    skip: 'I have a copy',
  },
  address: {
    title: 'Set the public address',
    open: 'Links in emails and pages point to this machine. Set BERTH_PUBLIC_URL: docs/deploying.md.',
  },
  sites: {
    title: 'Choose the domain of sites',
    open: 'Deployments get addresses that only this machine can open. Set BERTH_PLATFORM_SUFFIX: docs/deploying-sites.md.',
  },
  builds: {
    title: 'Turn on builds',
    open: 'Only finished outputs can be deployed, and no source. Builds need a sandbox, which Health checks, and BERTH_BUILDS: docs/building.md.',
    to: [operatorPath('health'), 'Health'],
  },
  mail: {
    title: 'Set up email',
    open: 'Emails are saved on this server and not sent. Set BERTH_SMTP_URL and BERTH_MAIL_FROM: docs/operations.md.',
    to: [operatorPath('health'), 'Health'],
  },
  team: {
    title: 'Invite your team',
    open: 'You are the only member of the only team.',
    to: [operatorPath('people', 'invite'), 'Invite'],
  },
}

/** Renders what is left to set up. Undefined once all is done, or an operator dismissed it. */
export function setupList(ctx: ConsoleCtx, { steps, dismissed }: Static<typeof Setup>): Html | undefined {
  const done = steps.filter(({ state }) => state !== 'open').length
  if (dismissed || done === steps.length) return undefined
  return html`<section class="card" aria-labelledby="setup"><header><h2 id="setup">Get ready for your users</h2><span class="count">${done} of ${steps.length}</span>
<span class="end">${button(ctx, operatorPath('setup', 'all'), 'Dismiss', { look: 'quiet small', label: 'Dismiss the list' })}</span></header>
<ul class="rows">${steps.map((step) => rowOf(ctx, step))}</ul></section>`
}

function rowOf(ctx: ConsoleCtx, { step, state }: Static<typeof Setup>['steps'][number]): Html {
  const { title, open, to, skip = 'Not needed' } = STEPS[step]
  if (state !== 'open')
    return html`<li class="row one">${glyph('good', 'ready', 'Done')}<span class="soft">${title}</span></li>`
  return html`<li class="row">${glyph('idle', 'idle', 'To do')}<div class="grow"><b>${title}</b><p class="soft">${withInlineCode(open)}</p></div>
<span class="line tight">${to && html`<a class="btn small" href="${to[0]}">${to[1]}</a>`}${button(ctx, operatorPath('setup', step), skip, { look: 'quiet small', label: `${skip}: ${title}` })}</span></li>`
}
