/** The log of a build in memory: from bytes to numbered lines that are kept until they are acknowledged. docs/runner.md: Log. */
import { StringDecoder } from 'node:string_decoder'
import type { LogBatch, LogLine } from '../../delivery/protocol/runner-protocol.ts'
import type { Masks } from '../../platform/secrets/masks.ts'

/** TABLE limits of a log. */
export const LOG_LIMITS = {
  /** Characters of a line. Longer lines are split. */
  line: 16_384,
  /** Bytes and lines of a batch. */
  batchBytes: 64 * 1024,
  batchLines: 1000,
  /** Bytes of text of a build. */
  bytes: 16 * 1024 * 1024,
  /** Bytes that a line counts in addition to its text, so that empty ones have a limit too. */
  perLine: 32,
} as const

const TRUNCATED = 'The log of this build is larger than 16 MiB. The rest of its output is not kept.'
/** Lines of the runner itself after the limit, such as the reason of a failure. */
const RESERVED_LINES = 100

/** What a cut may leave of an escape sequence. */
const UNFINISHED = /\x1b(?:\[[0-?]{0,32}[ -/]{0,4}|[\]PX^_][^\x07\x1b]{0,512}\x1b?)?$/
/** Control sequences: CSI, strings of OSC, DCS, SOS, PM and APC, and others. Colors (SGR) are kept. */
const SEQUENCES = /\x1b\[[\d;:]*m|\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])/g
const COLOR = /^\x1b\[[\d;:]*m$/
/** C0 but tab, line feed, carriage return and escape; DEL; C1. */
const CONTROLS = /[\0-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]/g
const ALONE = /\x1b(?!\[[\d;:]*m)/g

export type LogBuffer = {
  /** Adds output of the build. It may be cut anywhere. */
  write(bytes: Buffer): void
  /** Adds a line of the runner itself, after the output so far. */
  line(type: LogLine['type'], text: string): void
  /** Returns text as the log shows it: without control characters and masked values. */
  redact(text: string): string
  /** Ends the last line of the output. */
  end(): void
  /** Returns the next lines to send; undefined: all are acknowledged. */
  batch(): LogBatch | undefined
  /** Drops lines before this serial. */
  acknowledge(serial: number): void
  /** Bytes that are not acknowledged. */
  waitingBytes(): number
  /** The last lines of the build's output, oldest first. */
  lastLines(): readonly string[]
}

type Waiting = LogLine & { bytes: number }
type State = {
  masks: Masks
  now(): number
  decoder: StringDecoder
  /** The start of an escape sequence. */
  unfinished: string
  /** The last line, as far as it was written. */
  open: string
  lines: Waiting[]
  /** The serial of `lines[0]`. */
  first: number
  lastDate: number
  bytes: number
  ownLines: number
  isFull: boolean
  waitingBytes: number
  tail: string[]
  /** The end of the output as it came. */
  recent: string
}

const TAIL = 50
/** Characters that are kept of a log that is full: the lines of a build that writes on and on are not read, but for the last ones. */
const RECENT = 64 * 1024

/** Creates an empty log. `now`: the time in ms. Pure but for its own state. */
export function createLogBuffer(masks: Masks, now: () => number = Date.now): LogBuffer {
  const state: State = {
    ...{ masks, now, decoder: new StringDecoder('utf8'), unfinished: '', open: '', lines: [], first: 0, lastDate: 0 },
    ...{ bytes: 0, ownLines: 0, isFull: false, waitingBytes: 0, tail: [], recent: '' },
  }
  const redact = (text: string) => masks.mask(clean(text))
  return {
    write: (bytes) => write(state, state.decoder.write(bytes)),
    line(type, text) {
      flush(state)
      if (state.ownLines++ >= RESERVED_LINES) return
      for (const part of redact(text).split('\n')) push(state, type, part.slice(0, LOG_LIMITS.line))
    },
    redact,
    end() {
      write(state, state.decoder.end())
      flush(state)
    },
    batch: () => batchOf(state),
    acknowledge: (serial) => acknowledge(state, serial),
    waitingBytes: () => state.waitingBytes,
    lastLines: () => (state.isFull ? recentLines(state) : state.tail),
  }
}

function write(state: State, text: string): void {
  state.recent += text
  if (state.recent.length > 2 * RECENT) state.recent = state.recent.slice(-RECENT)
  if (state.isFull) return
  const whole = state.unfinished + text
  const [unfinished = ''] = UNFINISHED.exec(whole) ?? []
  state.unfinished = unfinished
  const parts = (state.open + clean(whole.slice(0, whole.length - unfinished.length))).split('\n')
  state.open = parts.pop()!
  for (const part of parts) output(state, part)
  const { longest } = state.masks
  // A value may continue in the next write, so the end of a long line waits for it.
  while (state.open.length >= LOG_LIMITS.line + longest) state.open = state.open.slice(cut(state, state.open))
}

function flush(state: State): void {
  const { open } = state
  state.unfinished = ''
  state.open = ''
  if (open !== '') output(state, open)
}

/** Adds a line of output, split where it is too long. */
function output(state: State, line: string): void {
  let rest = withoutOverwritten(line)
  // What was overwritten is not sent, but was written.
  state.bytes += line.length - rest.length
  while (rest.length > LOG_LIMITS.line) rest = rest.slice(cut(state, rest))
  outputPart(state, state.masks.mask(rest))
}

/** Adds the first part of a long line, and returns its length. */
function cut(state: State, text: string): number {
  const at = state.masks.cutBefore(text, LOG_LIMITS.line)
  const isHalf = /[\ud800-\udbff]/.test(text[at - 1]!) && at > 1
  const length = isHalf ? at - 1 : at
  outputPart(state, state.masks.mask(text.slice(0, length)))
  return length
}

function outputPart(state: State, text: string): void {
  if (state.isFull) return
  state.bytes += Buffer.byteLength(text) + LOG_LIMITS.perLine
  if (state.bytes > LOG_LIMITS.bytes) {
    state.isFull = true
    push(state, 'stderr', TRUNCATED)
    return
  }
  push(state, 'stdout', text)
  state.tail.push(text)
  if (state.tail.length > TAIL) state.tail.shift()
}

function push(state: State, type: LogLine['type'], text: string): void {
  const date = Math.max(state.lastDate, state.now())
  state.lastDate = date
  const line = { type, date, text: text.toWellFormed().slice(0, LOG_LIMITS.line) }
  const bytes = Buffer.byteLength(JSON.stringify(line)) + 1
  state.lines.push({ ...line, bytes })
  state.waitingBytes += bytes
}

/** The first line is left out: it may begin within a value, which would not be masked. */
function recentLines({ recent, masks }: State): string[] {
  const [, ...lines] = clean(recent).replace(/\n$/, '').split('\n')
  return lines.slice(-TAIL).map((line) => masks.mask(withoutOverwritten(line)).slice(0, LOG_LIMITS.line))
}

function batchOf({ lines, first }: State): LogBatch | undefined {
  if (lines.length === 0) return undefined
  const batch: LogLine[] = []
  let sum = 0
  for (const { bytes, ...line } of lines) {
    sum += bytes
    if (batch.length > 0 && (sum > LOG_LIMITS.batchBytes || batch.length === LOG_LIMITS.batchLines)) break
    batch.push(line)
  }
  return { first, lines: batch }
}

function acknowledge(state: State, serial: number): void {
  const count = Math.min(serial - state.first, state.lines.length)
  if (count <= 0) return
  for (const { bytes } of state.lines.splice(0, count)) state.waitingBytes -= bytes
  state.first += count
}

/** Removes control characters but line ends, tabs and colors. */
function clean(text: string): string {
  return text
    .replace(SEQUENCES, (sequence) => (COLOR.test(sequence) ? sequence : ''))
    .replace(ALONE, '')
    .replace(CONTROLS, '')
    .replaceAll('\r\n', '\n')
}

/** A terminal shows the last text that was written to a line. */
function withoutOverwritten(line: string): string {
  let end = line.length
  while (end > 0 && line[end - 1] === '\r') end--
  return end === 0 ? '' : line.slice(line.lastIndexOf('\r', end - 1) + 1, end)
}
