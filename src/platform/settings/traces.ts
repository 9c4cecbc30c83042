/** Trace collector settings, with the names of OpenTelemetry. */
import { withoutTrailing } from '../base/text.ts'
import { BadSetting, type Setting, type SettingType, splitCommaList, type ValuesOf } from './types.ts'

/** `endpoint`: base URL of all signals; the path for traces is appended. `headers`: sent with each request, such as a token. */
export type TraceReceiver = { endpoint: string; headers: Record<string, string> }

const RECEIVER: SettingType<string> = {
  values: '`http://` or `https://`, host and port, with or without a path',
  read(name, text) {
    const url = URL.parse(text)
    // A password in the URL would be logged; it belongs into a header.
    if (url === null || !/^https?:$/.test(url.protocol) || /[?#@]/.test(text))
      throw new BadSetting(`${name} must be an http(s) URL without a user, a query and a fragment`)
    return withoutTrailing(text, '/')
  },
}

/** In the format of OpenTelemetry. Messages never repeat one. */
const HEADERS: SettingType<Record<string, string>> = {
  values: '`name=value`, with commas between; a value may be percent-encoded',
  read(name, text) {
    const pairs = splitCommaList(text).map((pair) =>
      /^([!#$%&'*+.^_`|~\w-]+)\s*=\s*([\x21-\x7e][\x20-\x7e]*)$/.exec(pair),
    )
    if (pairs.some((pair) => pair === null)) throw new BadSetting(`${name} must be name=value, with commas between`)
    return Object.fromEntries(pairs.map((pair) => [pair![1]!.toLowerCase(), decoded(name, pair![2]!)]))
  },
}

function decoded(name: string, text: string): string {
  let value: string
  try {
    value = decodeURIComponent(text)
  } catch {
    throw new BadSetting(`${name} must be name=value with commas between; the percent-encoding of a value is broken`)
  }
  if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
    throw new BadSetting(`${name} must be name=value with commas between; a value has a character that no header holds`)
  return value
}

export const TRACES = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    group: 'Running',
    type: RECEIVER,
    whenUnset: 'none: no traces',
    description:
      'Where traces are sent over OTLP/HTTP, without the path `/v1/traces`: [operations.md](operations.md#traces).',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    group: 'Running',
    type: HEADERS,
    whenUnset: 'none',
    description: 'Headers for the collector, such as its token.',
    secret: true,
  },
} as const satisfies Record<string, Setting>

/** Returns the collector; undefined: tracing is off. Headers alone have no effect. */
export function receiverOf(values: ValuesOf<typeof TRACES>): TraceReceiver | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers = {} } = values
  return endpoint === undefined ? undefined : { endpoint, headers }
}
