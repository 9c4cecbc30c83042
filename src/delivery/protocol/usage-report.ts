/** Usage reports of a sites server, of visitors and of data caches. `server` and `sequence` make retries count once. docs/deploying-sites.md: Usage. */
import type { Static } from 'typebox'
import { Type } from '../../platform/schema/builder.ts'
import { jsonReader } from '../../platform/schema/json-reader.ts'
import { READERS } from '../../readers.ts'
import { MAX_FUNCTION_NAME } from './log-report.ts'

/** The path at the listener for proxies. */
export const USAGE_PATH = '/sites/v1/usage'
/** POST: sizes of data caches. */
export const CACHES_PATH = '/sites/v1/data-caches'
/** A size that stays as it is is reported again after this time. */
export const RENEWED_MS = 10 * 60_000
export const HOUR_MS = 3_600_000
export const { parts: MAX_LINES, bytes: MAX_REPORT_BYTES } = READERS['usage report']

/** Of a report with the most lines of deployments. */
export const MAX_FUNCTION_LINES = 50

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

/** What a function did in an hour. `name`: empty for those above 100. `errors`: failures, and statuses from 500 on. `ms`: of all together. */
const FunctionLine = Type.Object({
  deploymentId: UsageLine.properties.deploymentId,
  name: Type.String({ maxLength: MAX_FUNCTION_NAME }),
  hour: UsageLine.properties.hour,
  invocations: Count,
  errors: Count,
  ms: Count,
})

/** `server`: a random name of the process. `sequence`: increases with each report. */
const UsageReport = Type.Object({
  server: Type.String({ pattern: '^[0-9A-Za-z]{16}$' }),
  sequence: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  usage: Type.Array(UsageLine, { maxItems: MAX_LINES }),
  functions: Type.Optional(Type.Array(FunctionLine, { maxItems: MAX_FUNCTION_LINES })),
})

/** What one environment of a project has in the data cache. 0 entries: it has none any more. */
const CacheSize = Type.Object({
  projectId: Type.String({ minLength: 1, maxLength: 50 }),
  environment: Type.String({ pattern: '^[A-Za-z0-9_]{1,64}$' }),
  entries: Count,
  bytes: Type.Integer({ minimum: 0, maximum: 2 ** 50 }),
})

/** `ended`: the sites server stops, and what it had reported goes. */
const CacheReport = Type.Object({
  server: UsageReport.properties.server,
  sequence: UsageReport.properties.sequence,
  caches: Type.Array(CacheSize, { maxItems: MAX_LINES }),
  ended: Type.Optional(Type.Boolean()),
})

export type UsageLine = Static<typeof UsageLine>
export type FunctionLine = Static<typeof FunctionLine>
export type UsageReport = Static<typeof UsageReport>
export type CacheSize = Static<typeof CacheSize>
export type CacheReport = Static<typeof CacheReport>

const readReport = jsonReader(UsageReport, 'The report of usage')

/** Parses a report. Returns a message if it is invalid. */
export function readUsageReport(text: string): UsageReport | { sentence: string } {
  const report = readReport(text)
  if ('sentence' in report) return report
  const lines = new Set(report.usage.map(({ deploymentId, hour }) => `${hour} ${deploymentId}`))
  if (lines.size < report.usage.length) return { sentence: 'The report of usage has an hour of a deployment twice.' }
  const { functions = [] } = report
  if (functions.length + report.usage.length === 0) return { sentence: 'The report of usage has no line.' }
  const named = new Set(functions.map(({ deploymentId, hour, name }) => `${hour} ${deploymentId} ${name}`))
  return named.size < functions.length ? { sentence: 'The report of usage has an hour of a function twice.' } : report
}

const readCaches = jsonReader(CacheReport, 'The report of data caches')

/** Parses a report of data caches. Returns a message if it is invalid. */
export function readCacheReport(text: string): CacheReport | { sentence: string } {
  const report = readCaches(text)
  if ('sentence' in report) return report
  const named = new Set(report.caches.map(({ projectId, environment }) => `${projectId} ${environment}`))
  return named.size < report.caches.length
    ? { sentence: 'The report of data caches has an environment of a project twice.' }
    : report
}
