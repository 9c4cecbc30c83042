import type { Page } from '../../platform/pages/frame.ts'
import type { ConsoleCtx } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { type Crumb, consolePage, type Tabs } from '../frame.ts'

/** TABLE Operator tabs. docs/console.md: Operator. */
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

/** Rows per page. */
export const ROWS = '50'
const Text = Type.Optional(Type.String({ maxLength: 100 }))
export const ListQuery = Type.Object({ search: Text, until: Type.Optional(Type.String({ maxLength: 20 })) })

/** Returns `/console/operator`, with a section. */
export function operatorPath(section = '', ...parts: string[]): string {
  const path = ['/console/operator', ...(section === '' ? [] : [section]), ...parts.map(encodeURIComponent)]
  return path.join('/')
}

export const OPERATOR: Tabs = { name: 'Operator', table: Object.entries(TABS), to: (end) => operatorPath(end) }

type Content = Pick<Page, 'title' | 'body' | 'images'> & { within?: readonly Crumb[] }

/** Renders an operator page. */
export function operatorPage(ctx: ConsoleCtx, tab: Tab, content: Content): Promise<Page> {
  return consolePage(ctx, { tabs: OPERATOR, tab }, content)
}

/** Returns a size such as `12.3 MiB`. */
export function bytes(count: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  const step = count < 1024 ? 0 : Math.min(Math.floor(Math.log2(count) / 10), units.length - 1)
  return `${step === 0 ? count : (count / 1024 ** step).toFixed(1)} ${units[step]}`
}
