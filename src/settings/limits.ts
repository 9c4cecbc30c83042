/** Reads the setting of the rate limits: which figures of `limits.ts` the operator replaced. docs/limits.md. */
import { LIMITS, type Limit, type LimitName, type LimitSettings } from '../limits.ts'

/** Reads the setting: `on`, `off`, or a JSON object of groups: a number, `{"total", "seconds"}`, or null for no limit. Throws what `wrong` makes of a sentence. */
export function readLimits(text: string | undefined, wrong: (sentence: string) => Error): LimitSettings {
  if (text === undefined || text === '' || text === 'on') return {}
  if (text === 'off') return 'off'
  const said = parseObject(text)
  if (said === undefined) throw wrong('must be on, off or a JSON object such as {"env-create": 500}')
  const settings: LimitSettings = {}
  for (const [name, value] of Object.entries(said)) {
    if (!Object.hasOwn(LIMITS, name))
      throw wrong(`has no limit "${name}"; the limits are ${Object.keys(LIMITS).join(', ')}`)
    const row = rowOf(value, LIMITS[name as LimitName].seconds)
    if (row === undefined)
      throw wrong(`"${name}" must be a whole number from 1 to 1000000000, {"total": …, "seconds": 1 to 86400}, or null`)
    settings[name as LimitName] = row
  }
  return settings
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const said: unknown = JSON.parse(text)
    return typeof said === 'object' && said !== null && !Array.isArray(said) ? { ...said } : undefined
  } catch {
    return undefined
  }
}

function rowOf(value: unknown, usual: number): Limit | undefined {
  if (value === null) return { total: null, seconds: usual }
  const said = typeof value === 'number' ? { total: value } : value
  if (typeof said !== 'object' || said === null) return undefined
  const { total, seconds = usual, ...more } = said as { total?: unknown; seconds?: unknown }
  const good = isWhole(total, 1_000_000_000) && isWhole(seconds, 86_400) && Object.keys(more).length === 0
  return good ? { total: total as number, seconds: seconds as number } : undefined
}

function isWhole(value: unknown, most: number): boolean {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most
}
