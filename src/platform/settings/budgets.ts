/** Type of the budgets setting, which overrides rows of `budgets.ts`. docs/limits.md: Budgets. */
import { BUDGETS, type BudgetName, type BudgetSettings } from '../../budgets.ts'
import { isWhole, parseObject } from './limits.ts'
import { BadSetting, type Setting, type SettingType } from './types.ts'

const MOST = 1_000_000_000

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
    kind: FIGURES,
    default: '{}',
    description:
      'Limits on the data of an account; the object overrides single limits: [limits.md](limits.md#budgets).',
  },
} as const satisfies Record<string, Setting>
