/** Types of the settings that override rows of `limits.ts` and `budgets.ts`. docs/limits.md. */
import { BUDGETS, type BudgetName, type BudgetSettings } from '../../budgets.ts'
import { LIMITS, type Limit, type LimitName, type LimitSettings } from '../../limits.ts'
import { BadSetting, type Setting, type SettingType } from './types.ts'

const MOST = 1_000_000_000

/** A group of the object is a number, `{"total", "seconds"}`, or null for no limit. */
export const RATE_LIMITS: SettingType<LimitSettings> = {
  values: '`on`, `off`, or a JSON object such as `{"env-create": 500}`',
  json: true,
  read(setting, text) {
    if (text === 'on') return {}
    if (text === 'off') return 'off'
    const rows = parseObject(text)
    if (rows === undefined)
      throw new BadSetting(`${setting} must be on, off or a JSON object such as {"env-create": 500}`)
    const settings: LimitSettings = {}
    for (const [name, value] of Object.entries(rows)) {
      if (!Object.hasOwn(LIMITS, name))
        throw new BadSetting(`${setting} has no limit "${name}"; the limits are ${Object.keys(LIMITS).join(', ')}`)
      const limit = limitOf(value, LIMITS[name as LimitName].seconds)
      if (limit === undefined)
        throw new BadSetting(
          `${setting} "${name}" must be a whole number from 1 to 1000000000, {"total": …, "seconds": 1 to 86400}, or null`,
        )
      settings[name as LimitName] = limit
    }
    return settings
  },
}

/** Parses a JSON object; undefined for other texts. */
function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const limits: unknown = JSON.parse(text)
    return typeof limits === 'object' && limits !== null && !Array.isArray(limits) ? { ...limits } : undefined
  } catch {
    return undefined
  }
}

function limitOf(value: unknown, usual: number): Limit | undefined {
  if (value === null) return { total: null, seconds: usual }
  const limit = typeof value === 'number' ? { total: value } : value
  if (typeof limit !== 'object' || limit === null) return undefined
  const { total, seconds = usual, ...more } = limit as { total?: unknown; seconds?: unknown }
  const good = isWhole(total, MOST) && isWhole(seconds, 86_400) && Object.keys(more).length === 0
  return good ? { total: total as number, seconds: seconds as number } : undefined
}

/** Whether a value is an integer from 1 to `max`. */
function isWhole(value: unknown, max: number): boolean {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= max
}

/** A budget of the object is a number, or null for no limit. */
const FIGURES: SettingType<BudgetSettings> = {
  values: 'a JSON object such as `{"projects": 200}`',
  json: true,
  read(setting, text) {
    const rows = parseObject(text)
    if (rows === undefined) throw new BadSetting(`${setting} must be a JSON object such as {"projects": 200}`)
    for (const [name, value] of Object.entries(rows)) {
      if (!Object.hasOwn(BUDGETS, name))
        throw new BadSetting(`${setting} has no budget "${name}"; the budgets are ${Object.keys(BUDGETS).join(', ')}`)
      if (value !== null && !isWhole(value, MOST))
        throw new BadSetting(`${setting} "${name}" must be a whole number from 1 to ${MOST}, or null`)
    }
    return rows as Partial<Record<BudgetName, number | null>>
  },
}

export const BUDGET_SETTINGS = {
  BERTH_BUDGETS: {
    group: 'Accounts and projects',
    type: FIGURES,
    default: '{}',
    description:
      'Limits on the data of an account; the object overrides single limits: [limits.md](limits.md#budgets).',
  },
} as const satisfies Record<string, Setting>
