/** What the pages of the operator have in common: their tabs and their addresses. docs/console.md: Operator. */
import type { Page } from '../../platform/pages/frame.ts'
import type { ConsoleCtx } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { type Crumb, consolePage, type Tabs } from '../frame.ts'

/** TABLE the sections, in the order of the tabs. */
const TABS = {
  '': 'Overview',
  people: 'People',
  teams: 'Teams',
  tokens: 'Tokens',
  integrations: 'Integrations',
  keys: 'Keys',
  timers: 'Timers',
  deliveries: 'Deliveries',
  audit: 'Audit log',
  backups: 'Backups',
  health: 'Health',
  attention: 'Needs attention',
} as const
type Tab = keyof typeof TABS

/** Rows on a page. */
export const ROWS = '50'
const Text = Type.Optional(Type.String({ maxLength: 100 }))
/** The query of a list: what is looked for, and from where on. */
export const ListQuery = Type.Object({ search: Text, until: Type.Optional(Type.String({ maxLength: 20 })) })

/** `/console/operator`, and what follows it. */
export function operatorPath(section = '', ...parts: string[]): string {
  const path = ['/console/operator', ...(section === '' ? [] : [section]), ...parts.map(encodeURIComponent)]
  return path.join('/')
}

export const OPERATOR: Tabs = { name: 'Operator', table: Object.entries(TABS), to: (end) => operatorPath(end) }

type Content = Pick<Page, 'title' | 'body' | 'images'> & { within?: readonly Crumb[] }

/** A page of the operator, in one of the sections. */
export function operatorPage(ctx: ConsoleCtx, tab: Tab, content: Content): Promise<Page> {
  return consolePage(ctx, { tabs: OPERATOR, tab }, content)
}

/** `12.3 MiB`. */
export function bytes(count: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  const step = count < 1024 ? 0 : Math.min(Math.floor(Math.log2(count) / 10), units.length - 1)
  return `${step === 0 ? count : (count / 1024 ** step).toFixed(1)} ${units[step]}`
}
