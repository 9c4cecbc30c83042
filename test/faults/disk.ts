/**
 * A simulated disk. It gets the calls of a program, and at any time returns an image of what a power cut may leave: of
 * everything that was not yet synced each write is there, is not, or is torn; names of files are as durable as their folder.
 */
import { dirname } from 'node:path'
import type { Call } from './trace.ts'

type Change = { offset: number; bytes: Buffer } | { length: number }
type File = { kept: Buffer; length: number; changes: Change[] }
type NameChange = { path: string; file: File | undefined }[]

export type Disk = {
  apply(call: Call): void
  /** The files after a power cut now, by path. */
  cut(): Map<string, Buffer>
}

const SECTOR = 512

export function openDisk(): Disk {
  /** The names as the program sees them, and as the disk has them for certain. */
  const seen = new Map<string, File>()
  const kept = new Map<string, File>()
  const unsynced: NameChange[] = []
  const rename = (change: NameChange) => {
    put(seen, change)
    unsynced.push(change)
  }
  const fileAt = (path: string): File => {
    const known = seen.get(path)
    if (known !== undefined) return known
    const file = { kept: Buffer.alloc(0), length: 0, changes: [] }
    rename([{ path, file }])
    return file
  }
  return {
    apply(call) {
      if (call.kind === 'create') fileAt(call.path)
      else if (call.kind === 'write') fileAt(call.path).changes.push(call)
      else if (call.kind === 'truncate') fileAt(call.path).changes.push(call)
      else if (call.kind === 'unlink') rename([{ path: call.path, file: undefined }])
      else if (call.kind === 'link') rename([{ path: call.to, file: fileAt(call.path) }])
      else if (call.kind === 'rename') {
        const file = fileAt(call.path)
        rename([
          { path: call.path, file: undefined },
          { path: call.to, file },
        ])
      } else if (call.kind === 'sync') {
        const file = seen.get(call.path)
        if (file !== undefined) keepAll(file)
        else for (const change of take(unsynced, (path) => dirname(path) === call.path)) put(kept, change)
      }
    },
    cut() {
      const names = new Map(kept)
      // A journal of the file system keeps the order of names.
      const many = chance([0, unsynced.length, Math.floor(Math.random() * (unsynced.length + 1))])
      for (const change of unsynced.slice(0, many)) put(names, change)
      const fate = chance<Fate>(['gone', 'there', 'each its own'])
      return new Map([...names].map(([path, file]) => [path, imageOf(file, fate)]))
    },
  }
}

function put(names: Map<string, File>, change: NameChange): void {
  for (const { path, file } of change) {
    if (file === undefined) names.delete(path)
    else names.set(path, file)
  }
}

function take(changes: NameChange[], wanted: (path: string) => boolean): NameChange[] {
  // What is renamed lasts once the folder of its new name is synced.
  const taken = changes.filter((change) => wanted(change.at(-1)!.path))
  changes.splice(0, changes.length, ...changes.filter((change) => !taken.includes(change)))
  return taken
}

function keepAll(file: File): void {
  for (const change of file.changes) perform(file, change)
  file.changes = []
}

function perform(file: File, change: Change): void {
  if ('length' in change) {
    file.kept.fill(0, change.length, Math.max(change.length, file.length))
    file.length = change.length
    return
  }
  const end = change.offset + change.bytes.length
  if (end > file.kept.length) file.kept = Buffer.concat([file.kept, Buffer.alloc(end * 2 - file.kept.length)])
  change.bytes.copy(file.kept, change.offset)
  file.length = Math.max(file.length, end)
}

type Fate = 'gone' | 'there' | 'each its own'

/** What is on the disk of a file, with some of what was on its way. */
function imageOf(file: File, fate: Fate): Buffer {
  const image: File = { kept: Buffer.from(file.kept), length: file.length, changes: [] }
  for (const change of fate === 'gone' ? [] : file.changes) {
    const end = fate === 'there' ? 'there' : chance(['gone', 'there', 'torn'])
    if (end === 'there') perform(image, change)
    else if (end === 'torn' && 'bytes' in change) for (const sector of sectorsOf(change)) perform(image, sector)
  }
  return grown(image)
}

function grown({ kept, length }: File): Buffer {
  return length <= kept.length ? kept.subarray(0, length) : Buffer.concat([kept, Buffer.alloc(length - kept.length)])
}

/** Half of the sectors that a write touches, by chance. */
function sectorsOf({ offset, bytes }: { offset: number; bytes: Buffer }): Change[] {
  const sectors: Change[] = []
  for (let at = 0; at < bytes.length; ) {
    const next = Math.min(bytes.length, at + SECTOR - ((offset + at) % SECTOR))
    if (Math.random() < 0.5) sectors.push({ offset: offset + at, bytes: bytes.subarray(at, next) })
    at = next
  }
  return sectors
}

function chance<T>(of: T[]): T {
  return of[Math.floor(Math.random() * of.length)]!
}
