/** Cuts a long list out of a JSON text, so that it can be parsed in pieces. docs/limits.md: Sizes and timeouts. */
import { pauseWhenBusy } from '../base/event-loop.ts'
import { DEEPEST } from './json-weight.ts'

/** A text without the items of its list, and the items in groups. `groups` undefined: no such list. */
export type CutList = { rest: Buffer; groups: Group[] | undefined }

/** A byte range of comma-separated values. `long`: the long strings among them, cut into pieces that are strings too. */
export type Group = { from: number; to: number; long: LongString[] }
type LongString = { from: number; to: number; cuts: number[] }

/** Class of a byte outside of strings; 0: not counted. */
const KINDS = new Uint8Array(256)
const [QUOTE, COMMA, COLON, OBJECT, LIST, CLOSES] = [1, 2, 3, 4, 5, 6]
for (const [kind, bytes] of [
  [QUOTE, '"'],
  [COMMA, ','],
  [COLON, ':'],
  [OBJECT, '{'],
  [LIST, '['],
  [CLOSES, ']}'],
] as const)
  for (const byte of bytes) KINDS[byte.charCodeAt(0)] = kind
const QUOTE_BYTE = 0x22
const BACKSLASH_BYTE = 0x5c

const STEP = 64 * 1024
/** Largest group, which is parsed at once. */
const GROUP = { items: 100, bytes: 16 * 1024 }
/** Minimum size of a long string: a parser takes milliseconds for each megabyte of escapes. */
const LONG_STRING = 256 * 1024
/** `\\u0041`: an escape must not be cut. */
const MAX_ESCAPE = 6

/**
 * Finds the list of field `name` in a JSON object, in pieces. Returns the reason if the text has more than `parts` names, values and containers, or
 * is nested too deep. Other errors are left to the parser.
 */
export async function cutList(text: Buffer, name: string, parts: number): Promise<CutList | 'parts' | 'depth'> {
  const scan = new Scan(text, Buffer.from(JSON.stringify(name)), parts)
  for (let to = STEP; scan.at < text.length; to += STEP) {
    const excess = scan.read(Math.min(text.length, to))
    if (excess !== undefined) return excess
    await pauseWhenBusy()
  }
  return scan.cut()
}

/** Scan state. Plain fields for speed, because millions of bytes pass through them. */
class Scan {
  at = 0
  private depth = 0
  private parts = 1
  private inString = false
  private isEscaped = false
  private string: LongString = { from: 0, to: 0, cuts: [] }
  private escapeAt = 0
  /** Whether the value of the wanted field comes next. */
  private isNamed = false
  private list: { from: number; to: number } | undefined
  private group: Group & { count: number } = { from: 0, to: 0, long: [], count: 0 }
  private readonly groups: Group[] = []
  private readonly text: Buffer
  private readonly name: Buffer
  private readonly maxParts: number

  constructor(text: Buffer, name: Buffer, maxParts: number) {
    this.text = text
    this.name = name
    this.maxParts = maxParts
  }

  read(to: number): 'parts' | 'depth' | undefined {
    for (; this.at < to; this.at++) {
      const byte = this.text[this.at]!
      if (this.inString) {
        this.readString(byte)
        continue
      }
      const kind = KINDS[byte]!
      if (kind === 0) continue
      this.readToken(kind)
      if (this.depth > DEEPEST) return 'depth'
      if (this.parts > this.maxParts) return 'parts'
    }
    return undefined
  }

  cut(): CutList {
    const { text, list, groups } = this
    if (list === undefined || list.to < 0) return { rest: text, groups: undefined }
    return { rest: Buffer.concat([text.subarray(0, list.from), text.subarray(list.to)]), groups }
  }

  private readString(byte: number): void {
    if (this.isEscaped) this.isEscaped = false
    else if (byte === BACKSLASH_BYTE) {
      this.isEscaped = true
      this.escapeAt = this.at
    } else if (byte === QUOTE_BYTE) {
      this.endString()
    } else if (this.at - (this.string.cuts.at(-1) ?? this.string.from) > LONG_STRING) {
      const isWithinCharacter = (byte & 0xc0) === 0x80
      if (!isWithinCharacter && this.at - this.escapeAt >= MAX_ESCAPE) this.string.cuts.push(this.at)
    }
  }

  private endString(): void {
    this.inString = false
    this.string.to = this.at + 1
    if (this.string.cuts.length > 0 && this.isInList()) this.group.long.push(this.string)
  }

  private isInList(): boolean {
    return this.list !== undefined && this.list.to < 0
  }

  private readToken(kind: number): void {
    if (kind === QUOTE) {
      this.inString = true
      this.string = { from: this.at, to: 0, cuts: [] }
    } else if (kind === CLOSES) {
      this.close()
    } else {
      this.parts++
      if (kind === COMMA) this.endItem()
      else if (kind === COLON) this.isNamed = this.depth === 1 && this.isName()
      else this.open(kind)
    }
  }

  private isName(): boolean {
    return this.text.subarray(this.string.from, this.string.to).equals(this.name)
  }

  private open(kind: number): void {
    if (kind === LIST && this.depth === 1 && this.isNamed && this.list === undefined) {
      this.list = { from: this.at + 1, to: -1 }
      this.group.from = this.at + 1
    }
    this.isNamed = false
    this.depth++
  }

  private close(): void {
    this.depth--
    if (!this.isInList() || this.depth !== 1) return
    this.list!.to = this.at
    this.endGroup()
  }

  private endItem(): void {
    if (!this.isInList() || this.depth !== 2) return
    this.group.count++
    if (this.group.count >= GROUP.items || this.at - this.group.from >= GROUP.bytes) this.endGroup()
  }

  private endGroup(): void {
    const { from, long } = this.group
    this.groups.push({ from, to: this.at, long })
    this.group = { from: this.at + 1, to: 0, long: [], count: 0 }
  }
}
