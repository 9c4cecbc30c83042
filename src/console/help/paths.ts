/** The pages of docs/ that the console has. docs/console.md: Help. */

/** TABLE What messages of the console refer to, and what these pages refer to for operators. */
export const HELP_PAGES = [
  'backup',
  'building',
  'deploying',
  'deploying-sites',
  'domains',
  'operations',
  'runner',
  'sandbox',
  'scaling',
  'tls',
  'upgrading',
  'variables',
] as const
export type HelpPage = (typeof HELP_PAGES)[number]

/** Returns whether the console has a page of docs/. */
export function isHelpPage(name: string): name is HelpPage {
  return (HELP_PAGES as readonly string[]).includes(name)
}

/** Returns the path of a page of the help. `section`: the anchor of a heading. */
export function helpPath(page: HelpPage, section?: string): string {
  return `/console/help/${page}${section === undefined ? '' : `?${new URLSearchParams({ section })}`}`
}
