/** What a program did to its files, and when it answered, in the order in which the system saw it: read from strace. */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'

/** One call. Paths are absolute. `answer`: the first bytes of an HTTP answer left for this port of the caller. */
export type Call =
  | { kind: 'create' | 'unlink' | 'sync'; path: string }
  | { kind: 'write'; path: string; offset: number; bytes: Buffer }
  | { kind: 'truncate'; path: string; length: number }
  | { kind: 'rename' | 'link'; path: string; to: string }
  | { kind: 'answer'; port: number }
  | { kind: 'greeting' }

/** The calls on files below `folder`, and the answers. Throws on a call it cannot follow. */
export async function readTrace(file: string, folder: string): Promise<Call[]> {
  const calls: Call[] = []
  const begun = new Map<string, string>()
  const offsets = new Map<string, number>()
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const [, pid = '', rest = ''] = /^(\d+) +(.*)$/.exec(line) ?? []
    if (rest.endsWith('<unfinished ...>')) {
      begun.set(pid, rest.slice(0, -'<unfinished ...>'.length))
      continue
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest)
    const whole = resumed ? `${begun.get(pid) ?? ''}${resumed[1]}` : rest
    const [, name = '', said = '', result = ''] = /^(\w+)\((.*?) *\) += (-?\d+)/.exec(whole) ?? []
    if (name === '' || Number(result) < 0) continue
    const call = callOf(name, said, Number(result), folder, offsets)
    if (call !== undefined) calls.push(call)
  }
  return calls
}

function callOf(
  name: string,
  said: string,
  result: number,
  folder: string,
  offsets: Map<string, number>,
): Call | undefined {
  const at = /^(\d+)<((?:->|[^>])*)>/.exec(said)
  const place = at === null ? '' : textOf(at[2]!)
  if (name === 'write' || name === 'writev') {
    const first = /"((?:\\x[0-9a-f]{2})*)"/.exec(said)?.[1] ?? ''
    const [, port] = /^TCP:\[[^\]]*->127\.0\.0\.1:(\d+)\]$/.exec(place) ?? []
    // "HTTP/1.1 "
    if (port !== undefined && first.startsWith('\\x48\\x54\\x54\\x50\\x2f'))
      return { kind: 'answer', port: Number(port) }
    if (at?.[1] === '1' && textOf(first).startsWith('berth listening')) return { kind: 'greeting' }
  }
  const texts = [...said.matchAll(/"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?/g)]
  if (['rename', 'renameat', 'renameat2', 'link', 'linkat'].includes(name)) {
    const [path = '', to = ''] = texts.map(([, text]) => textOf(text!))
    return isBelow(folder, path) ? { kind: name.startsWith('rename') ? 'rename' : 'link', path, to } : undefined
  }
  if (name === 'openat' || name.startsWith('unlink')) {
    const path = textOf(texts[0]?.[1] ?? '')
    if (!isBelow(folder, path)) return undefined
    if (name !== 'openat') return { kind: 'unlink', path }
    offsets.set(`${result}`, 0)
    if (said.includes('O_TRUNC')) return { kind: 'truncate', path, length: 0 }
    return said.includes('O_CREAT') ? { kind: 'create', path } : undefined
  }
  if (name.endsWith('sync'))
    return isBelow(folder, place) || place === folder ? { kind: 'sync', path: place } : undefined
  if (!isBelow(folder, place)) return undefined
  if (name === 'ftruncate') return { kind: 'truncate', path: place, length: lastOf(said) }
  if (texts.length !== 1 || texts[0]![2] !== undefined) throw new Error(`cannot follow ${name} on ${place}`)
  const bytes = Buffer.from(texts[0]![1]!.replaceAll('\\x', ''), 'hex').subarray(0, result)
  if (name === 'pwrite64') return { kind: 'write', path: place, offset: lastOf(said), bytes }
  if (name !== 'write') throw new Error(`cannot follow ${name} on ${place}`)
  const offset = offsets.get(at![1]!) ?? 0
  offsets.set(at![1]!, offset + result)
  return { kind: 'write', path: place, offset, bytes }
}

/** The last argument of a call. */
function lastOf(said: string): number {
  const [, number] = /, (\d+)$/.exec(said) ?? []
  if (number === undefined) throw new Error(`cannot follow a call that ends with ${said.slice(-40)}`)
  return Number(number)
}

/** Memory-only files do not count: SQLite rebuilds its index of the log. */
function isBelow(folder: string, path: string): boolean {
  return path.startsWith(`${folder}/`) && !path.endsWith('-shm')
}

/** Names of files are escaped, those of sockets are not. */
function textOf(escaped: string): string {
  if (!escaped.startsWith('\\x')) return escaped
  return Buffer.from(escaped.replaceAll('\\x', ''), 'hex').toString('latin1')
}
