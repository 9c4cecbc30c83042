/** Log lines of functions, as a sites server reports them. `server` and `sequence` make retries count once. docs/functions.md: Log. */
import type { Static } from 'typebox'
import { Type } from '../../platform/schema/builder.ts'
import { OneOf } from '../../platform/schema/fields.ts'
import { jsonReader } from '../../platform/schema/json-reader.ts'
import { READERS } from '../../readers.ts'

/** The path at the listener for proxies. */
export const LOGS_PATH = '/sites/v1/logs'
export const { parts: MAX_LOG_LINES, bytes: MAX_LOG_BYTES } = READERS['log report']

export const LOG_LEVELS = ['info', 'warning', 'error'] as const
/** Characters of a line. */
export const MAX_LOG_TEXT = 16 * 1024
export const MAX_FUNCTION_NAME = 200

/** Facts of a request are empty where it is not known, and `status` is 0 until it has an answer. `functionName`: which wrote it. `text` is empty for a request that wrote nothing. */
const LogLine = Type.Object({
  deploymentId: Type.String({ minLength: 1, maxLength: 100 }),
  date: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  level: OneOf(...LOG_LEVELS),
  text: Type.String({ maxLength: MAX_LOG_TEXT }),
  requestId: Type.String({ maxLength: 100 }),
  method: Type.String({ maxLength: 20 }),
  host: Type.String({ maxLength: 260 }),
  path: Type.String({ maxLength: 500 }),
  status: Type.Integer({ minimum: 0, maximum: 999 }),
  functionName: Type.Optional(Type.String({ maxLength: MAX_FUNCTION_NAME })),
})

/** `server`: a random name of the process. `sequence`: increases with each report. */
const LogReport = Type.Object({
  server: Type.String({ pattern: '^[0-9A-Za-z]{16}$' }),
  sequence: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  lines: Type.Array(LogLine, { minItems: 1, maxItems: MAX_LOG_LINES }),
})

export type LogLine = Static<typeof LogLine>
export type LogReport = Static<typeof LogReport>

/** Parses a report. Returns a message if it is invalid. */
export const readLogReport = jsonReader(LogReport, 'The report of log lines')
