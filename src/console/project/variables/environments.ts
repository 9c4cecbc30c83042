/** Where variables are had, as the pages of variables say it: addresses, environments and branches. */

import { type Html, html } from '../../../platform/pages/html.ts'
import type { OwnAccount } from '../../../platform/pages/own-accounts.ts'
import { type EnvVar, isStandard, TARGETS } from '../../../projects/env/schema.ts'
import { READERS } from '../../../readers.ts'
import { type FieldOptions, field } from '../../action.ts'
import { type Choice, checkboxesField } from '../../fields.ts'
import { canInAccount, projectPath } from '../../frame.ts'
import type { Refused } from '../../refused.ts'
import type { CustomEnvironments } from '../environments.ts'

export const VARIABLES_PATH = '/console/t/:slug/projects/:name/variables'
export const VARIABLE_PATH = `${VARIABLES_PATH}/:id`

/** Most bytes of a form with one variable: a value of 64 KiB, of which a form makes up to three times as many bytes. */
export const VARIABLE_FORM_BYTES = READERS.form.bytes

/** TABLE who may read values: the type of a variable, and its words. */
export const READER_CHOICES: readonly Choice[] = [
  ['encrypted', 'Members who may read values'],
  ['sensitive', 'Nobody: only deployments get them'],
  ['plain', 'Everybody who sees the project'],
]

type Placed = Pick<EnvVar, 'target' | 'customEnvironmentIds' | 'gitBranch'>

/** The page of all variables. */
export function listPath(account: Pick<OwnAccount, 'slug'>, project: string, section = ''): string {
  return projectPath(account, project, section === '' ? 'variables' : `variables/${section}`)
}

/** Every environment of a project, to choose from: the value is its name, or the id of a custom one. */
export function environmentChoices(environments: CustomEnvironments): Choice[] {
  return [
    ...TARGETS.map((one): Choice => [one, one]),
    ...environments.map(({ id, slug }): Choice => [id, `${slug} (custom)`]),
  ]
}

/** The environments in which the role of the person may change variables, as `environmentChoices` gives them. */
export function writableChoices(account: OwnAccount, environments: CustomEnvironments): Choice[] {
  return environmentChoices(environments).filter(([one]) => mayTouch(account, [one]))
}

/** The boxes of environments. Where production is none of them, the reason is said. */
export function environmentsField(
  choices: readonly Choice[],
  chosen: readonly string[],
  refused: Refused | undefined,
): Html {
  const isWhole = choices.some(([one]) => one === 'production')
  const hint = 'Production is not offered: your role does not change its variables.'
  return checkboxesField('target', 'Where', choices, { chosen, refused, ...(!isWhole && { hint }) })
}

/** Whether the role of the person reaches variables of these environments: production needs a right of its own. */
function mayTouch(account: OwnAccount, targets: readonly string[]): boolean {
  return !targets.includes('production') || canInAccount(account, 'env:production')
}

/** Whether the role of the person may change a variable. projects/env/access.ts: mustHaveWritePermission. */
export function canChangeVariable(account: OwnAccount, { target }: Pick<EnvVar, 'target'>): boolean {
  return canInAccount(account, 'env:write') && mayTouch(account, target)
}

/** Whether the role of the person may read the value of a variable. projects/env/access.ts: canReadValue. */
export function canReadVariable(account: OwnAccount, { type, target }: Pick<EnvVar, 'type' | 'target'>): boolean {
  if (type === 'sensitive') return false
  return type === 'plain' || type === 'system' || (canInAccount(account, 'env:decrypt') && mayTouch(account, target))
}

/** The field of a branch. */
export function branchField(hint: string, options: Pick<FieldOptions, 'value' | 'refused'>): Html {
  const attributes = html` autocomplete="off" autocapitalize="none" spellcheck="false"`
  return field('gitBranch', 'Branch', { ...options, hint, attributes })
}

/** What was chosen, as routes take it. */
export function environmentsBody(chosen: readonly string[]) {
  return {
    target: chosen.filter(isStandard),
    customEnvironmentIds: chosen.filter((one) => !isStandard(one)),
  }
}

/** Whether a variable is had in an environment, named as in `environmentChoices`. */
export function isIn({ target, customEnvironmentIds }: Placed, environment: string): boolean {
  return [...target, ...customEnvironmentIds].includes(environment)
}

/** Environments and branch of a variable. */
export function environmentsLabel(
  { target, customEnvironmentIds, gitBranch }: Placed,
  environments: CustomEnvironments,
): Html {
  const slugs = new Map(environments.map(({ id, slug }) => [id, slug]))
  const words = [...target, ...customEnvironmentIds.map((id) => slugs.get(id) ?? id)]
  if (words.length === 0) return html`<span class="soft">no environment</span>`
  return html`${words.map((one) => html`<span class="tag">${one}</span> `)}${gitBranch && html`<span class="tag">branch ${gitBranch}</span>`}`
}
