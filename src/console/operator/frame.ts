import type { Page } from '../../platform/pages/frame.ts'
import type { ConsoleCtx } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { type Crumb, consolePage } from '../frame.ts'
import type { Section, Tabs } from '../shell/side.ts'

/** TABLE Operator sections. docs/console.md: Operator. */
const SECTIONS = [
  ['', 'Overview', 'house'],
  ['attention', 'Needs attention', 'bell'],
  ['people', 'Users', 'user', 'Accounts'],
  ['teams', 'Teams', 'users', 'Accounts'],
  ['tokens', 'Tokens', 'fingerprint', 'Accounts'],
  ['integrations', 'Integrations', 'blocks', 'Accounts'],
  ['deliveries', 'Deliveries', 'send', 'Delivery'],
  ['timers', 'Timers', 'timer', 'Delivery'],
  ['audit', 'Audit log', 'scroll-text', 'Safety'],
  ['backups', 'Backups', 'database', 'Safety'],
  ['keys', 'Keys', 'key-round', 'Safety'],
  ['runners', 'Runners', 'layers', 'System'],
  ['health', 'Health', 'heart-pulse', 'System'],
] as const satisfies readonly Section[]
type Tab = (typeof SECTIONS)[number][0]

/** Rows per page. */
export const ROWS = '50'
const Text = Type.Optional(Type.String({ maxLength: 100 }))
export const ListQuery = Type.Object({ search: Text, until: Type.Optional(Type.String({ maxLength: 20 })) })

/** Returns `/console/operator`, with a section. */
export function operatorPath(section = '', ...parts: string[]): string {
  const path = ['/console/operator', ...(section === '' ? [] : [section]), ...parts.map(encodeURIComponent)]
  return path.join('/')
}

export const OPERATOR: Tabs = { name: 'Operator', table: SECTIONS, to: (end) => operatorPath(end) }

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
