/** Usage report of a sites server. `server` and `sequence` make retries count once. docs/deploying-sites.md: Usage. */
import type { Static } from 'typebox'
import { Type } from '../../platform/schema/builder.ts'
import { jsonReader } from '../../platform/schema/json-reader.ts'
import { READERS } from '../../readers.ts'

/** The path at the listener for proxies. */
export const USAGE_PATH = '/sites/v1/usage'
export const HOUR_MS = 3_600_000
export const { parts: MAX_LINES, bytes: MAX_REPORT_BYTES } = READERS['usage report']

/** Far above the requests of an hour; sums stay exact integers. */
const Count = Type.Integer({ minimum: 0, maximum: 2 ** 40 })

/** Usage of an hour. `hour`: its start in ms, UTC. `requests` may exceed the statuses: visitors may disconnect early. `bytes`: of bodies. */
const UsageLine = Type.Object({
  deploymentId: Type.String({ minLength: 1, maxLength: 100 }),
  hour: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, multipleOf: HOUR_MS }),
  requests: Count,
  statuses: Type.Object({ '2xx': Count, '3xx': Count, '4xx': Count, '5xx': Count }),
  bytes: Type.Integer({ minimum: 0, maximum: 2 ** 50 }),
})

/** `server`: a random name of the process. `sequence`: increases with each report. */
const UsageReport = Type.Object({
  server: Type.String({ pattern: '^[0-9A-Za-z]{16}$' }),
  sequence: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  usage: Type.Array(UsageLine, { minItems: 1, maxItems: MAX_LINES }),
})

export type UsageLine = Static<typeof UsageLine>
export type UsageReport = Static<typeof UsageReport>

const readReport = jsonReader(UsageReport, 'The report of usage')

/** Parses a report. Returns a message if it is invalid. */
export function readUsageReport(text: string): UsageReport | { sentence: string } {
  const report = readReport(text)
  if ('sentence' in report) return report
  const lines = new Set(report.usage.map(({ deploymentId, hour }) => `${hour} ${deploymentId}`))
  return lines.size < report.usage.length
    ? { sentence: 'The report of usage has an hour of a deployment twice.' }
    : report
}
