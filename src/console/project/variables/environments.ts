import { type Html, html } from '../../../platform/pages/html.ts'
import type { OwnAccount } from '../../../platform/pages/own-accounts.ts'
import { type EnvVar, isStandard, TARGETS } from '../../../projects/env/schema.ts'
import { READERS } from '../../../readers.ts'
import { type FieldOptions, field, PLAIN_TEXT } from '../../action.ts'
import { type Choice, checkboxesField } from '../../fields.ts'
import type { FormError } from '../../form-error.ts'
import { canInAccount, projectPath } from '../../frame.ts'
import { type CustomEnvironments, environmentName } from '../environments.ts'

export const VARIABLES_PATH = '/console/t/:slug/projects/:name/variables'
export const VARIABLE_PATH = `${VARIABLES_PATH}/:id`

/** Chosen at first where variables are added, one or many. */
export const DEFAULT_ENVIRONMENTS: readonly string[] = TARGETS

/** A value of 64 KiB, which form encoding can triple. */
export const VARIABLE_FORM_BYTES = READERS.form.bytes

/** TABLE Variable types and their visibility. */
export const READER_CHOICES: readonly Choice[] = [
  ['encrypted', 'Members with access to values'],
  ['sensitive', 'Write-only: deployments only'],
  ['plain', 'Everyone in the project'],
]

/** Its label, which is marked as on the pages of deployments. */
const PRODUCTION = environmentName('production')

type Placed = Pick<EnvVar, 'target' | 'customEnvironmentIds' | 'gitBranch'>

/** Returns the path of the variables. */
export function listPath(account: Pick<OwnAccount, 'slug'>, project: string, section = ''): string {
  return projectPath(account, project, section === '' ? 'variables' : `variables/${section}`)
}

/** Returns all environments of a project as choices: standard ones by name, custom ones by id. */
export function environmentChoices(environments: CustomEnvironments): Choice[] {
  return [
    ...TARGETS.map((name): Choice => [name, environmentName(name)]),
    ...environments.map(({ id, slug }): Choice => [id, `${slug} (custom)`]),
  ]
}

/** Returns the environments whose variables the role can change. */
export function writableChoices(account: OwnAccount, environments: CustomEnvironments): Choice[] {
  return environmentChoices(environments).filter(([id]) => canTouch(account, [id]))
}

/** Renders the environment checkboxes. Explains a missing production. */
export function environmentsField(
  choices: readonly Choice[],
  chosen: readonly string[],
  error: FormError | undefined,
): Html {
  const isWhole = choices.some(([id]) => id === 'production')
  const hint = isWhole ? undefined : 'Your role cannot change production variables.'
  return checkboxesField('target', 'Environments', choices, { chosen, error, hint })
}

/** Production needs its own permission. */
function canTouch(account: OwnAccount, targets: readonly string[]): boolean {
  return !targets.includes('production') || canInAccount(account, 'env:production')
}

/** Returns whether the role can change a variable. projects/env/access.ts: mustHaveWritePermission. */
export function canChangeVariable(account: OwnAccount, { target }: Pick<EnvVar, 'target'>): boolean {
  return canInAccount(account, 'env:write') && canTouch(account, target)
}

/** Returns whether the role can read the value of a variable. projects/env/access.ts: canReadValue. */
export function canReadVariable(account: OwnAccount, { type, target }: Pick<EnvVar, 'type' | 'target'>): boolean {
  if (type === 'sensitive') return false
  return type === 'plain' || type === 'system' || (canInAccount(account, 'env:decrypt') && canTouch(account, target))
}

/** Compares variables by key. */
export function compareKeys({ key: a }: Pick<EnvVar, 'key'>, { key: b }: Pick<EnvVar, 'key'>): number {
  return Number(a > b) - Number(a < b)
}

/** Renders the buttons of a new variable: `afterAdding`. `list`: the path of the variables. */
export function addButtons(words: string, list: string): Html {
  return html`<p class="line"><button class="btn primary">${words}</button><button class="btn" name="after" value="another">Add and enter another</button><a class="btn" href="${list}">Cancel</a></p>`
}

/** Returns the page after a variable was added: the list, or the form again, by the button. */
export function afterAdding(list: string, { after }: { after?: string }): string {
  return after === 'another' ? `${list}/new` : list
}

/** Renders the branch field. */
export function branchField(hint: string, options: Pick<FieldOptions, 'value' | 'error'>): Html {
  return field('gitBranch', 'Branch', { ...options, hint, attributes: PLAIN_TEXT })
}

/** Returns the body fields of the chosen environments. */
export function environmentsBody(chosen: readonly string[]) {
  return {
    target: chosen.filter(isStandard),
    customEnvironmentIds: chosen.filter((id) => !isStandard(id)),
  }
}

/** Returns whether a variable is in an environment, named as in `environmentChoices`. */
export function isIn({ target, customEnvironmentIds }: Placed, environment: string): boolean {
  return [...target, ...customEnvironmentIds].includes(environment)
}

/** Renders the environments and branch of a variable. */
export function environmentsLabel(
  { target, customEnvironmentIds, gitBranch }: Placed,
  environments: CustomEnvironments,
): Html {
  const slugs = new Map(environments.map(({ id, slug }) => [id, slug]))
  const words = [...target.map(environmentName), ...customEnvironmentIds.map((id) => slugs.get(id) ?? id)]
  if (words.length === 0) return html`<span class="soft">No environment</span>`
  return html`${words.map((word) => html`<span class="badge${word === PRODUCTION && ' accent'}">${word}</span> `)}${gitBranch && html`<span class="badge">branch ${gitBranch}</span>`}`
}
