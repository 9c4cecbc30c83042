/** The keyring: root keys with ids, in a file of their own or handed in whole. It never lies beside what it seals, in the database. */
import type { KeyObject } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { BadSetting } from '../../config.ts'
import { createFileAtomically, writeFileAtomically } from '../adapters/atomic-file.ts'
import { readText } from '../adapters/file-errors.ts'
import { randomText } from '../base/ids.ts'
import { newKeyBytes, toSecretKey } from './seal.ts'

export type Keyring = {
  /** Where it is, for sentences. */
  place: string
  /** False when it was handed in whole: then Berth cannot change it. */
  changeable: boolean
  /** The ids, first one first: the key that a store without an active key begins with. */
  ids(): string[]
  /** The key of an id. A file is read again when the id is not known: another instance may have added it. */
  find(id: string): KeyObject | undefined
  /** Puts a new key in front, on disk before this returns. Gives its id. */
  add(): string
  remove(id: string): void
}

type Entry = { id: string; key: string }
/** The keyring as it is written down: the first key is the one that a store without an active key begins with. */
export type KeyringText = { keys: Entry[] }
const ID = /^[\w-]{1,64}$/

/**
 * Opens the keyring that the setting names. A file that is not there is made when `mayMake`: only a store that holds
 * nothing sealed may get a new one, and only in a folder that is there. Throws, saying what to do, when it is missing, unreadable, or
 * readable by others.
 */
export function openKeyring(setting: { file: string } | { text: string }, mayMake: () => boolean): Keyring {
  if ('text' in setting) return ringOf('BERTH_KEYS', parse(setting.text, 'in it'), undefined)
  const { file } = setting
  const entries = readEntries(file)
  if (entries !== undefined) return ringOf(file, entries, file)
  if (!mayMake()) {
    throw new BadSetting(
      `BERTH_KEYS: the keyring ${file} is missing, and this store was written with it. Put the file back from your backup, ` +
        'or point BERTH_KEYS at it. Without its keys the values of variables cannot be read by anyone.',
    )
  }
  return ringOf(file, makeFile(file), file)
}

/** The keyring of the settings with its keys in clear, to be sealed. Throws when there is none. */
export function readKeyring(setting: { file: string } | { text: string }): KeyringText {
  if ('text' in setting) return parseKeyring(setting.text, 'in it')
  const keys = readEntries(setting.file)
  if (keys === undefined) throw new BadSetting(`BERTH_KEYS: there is no keyring at ${setting.file}`)
  return { keys }
}

/** Reads the text of a keyring. Throws, naming the place and what is wrong, and never the text. */
export function parseKeyring(text: string, place: string): KeyringText {
  return { keys: parse(text, place) }
}

/** Writes a keyring where there is none. False: there is one. Throws BadSetting where its folder is not there. */
export function writeKeyring(file: string, { keys }: KeyringText): boolean {
  mustHaveFolder(file)
  return createFileAtomically(file, textOf(keys))
}

function ringOf(place: string, first: Entry[], file: string | undefined): Keyring {
  let entries: Entry[] = []
  let keys = new Map<string, KeyObject>()
  const take = (read: Entry[]) => {
    entries = read
    keys = new Map(read.map(({ id, key }) => [id, toSecretKey(Buffer.from(key, 'base64'))]))
  }
  const change = (to: (read: Entry[]) => Entry[]) => {
    if (file === undefined) throw new Error('a keyring that was handed in whole cannot be changed')
    const changed = to(readEntries(file) ?? entries)
    writeFileAtomically(file, textOf(changed))
    take(changed)
  }
  take(first)
  return {
    place,
    changeable: file !== undefined,
    ids: () => entries.map(({ id }) => id),
    find(id) {
      if (!keys.has(id) && file !== undefined) take(readEntries(file) ?? entries)
      return keys.get(id)
    },
    add() {
      const entry = newEntry()
      change((read) => [entry, ...read])
      return entry.id
    },
    remove: (id) => change((read) => read.filter((entry) => entry.id !== id)),
  }
}

function newEntry(): Entry {
  return { id: `rk_${randomText(12)}`, key: newKeyBytes().toString('base64') }
}

/** Of two instances that start together one makes the file; the other takes that one's. */
function makeFile(file: string): Entry[] {
  mustHaveFolder(file)
  createFileAtomically(file, textOf([newEntry()]))
  return readEntries(file)!
}

/** The folder may be on a disk that is not mounted now. A keyring that is made there would seal values, and be gone once the disk is back. */
function mustHaveFolder(file: string): void {
  const folder = dirname(file)
  if (existsSync(folder)) return
  throw new BadSetting(
    `BERTH_KEYS: the folder ${folder} of the keyring is not there, and a keyring is not made without it. Mount its disk, or make the folder`,
  )
}

/** Undefined when there is no file. Throws when others than its owner may read it. */
function readEntries(file: string): Entry[] | undefined {
  let text: string
  try {
    if ((statSync(file).mode & 0o077) !== 0) {
      throw new BadSetting(
        `BERTH_KEYS: the keyring ${file} can be read by others than its owner: chmod 600 it, then start again`,
      )
    }
    text = readText(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  return parse(text, file)
}

/** `{"keys": [{"id", "key"}]}`. What is wrong is named by its place: the text itself is secret. */
function parse(text: string, place: string): Entry[] {
  let keys: unknown
  try {
    keys = (JSON.parse(text) as { keys?: unknown } | null)?.keys
  } catch {
    throw new BadSetting(`BERTH_KEYS: the keyring ${place} is not JSON: mend it, or put it back from your backup`)
  }
  if (!Array.isArray(keys) || keys.length === 0)
    throw new BadSetting(`BERTH_KEYS: the keyring ${place} has no list "keys" with a key`)
  const entries = keys as Partial<Entry>[]
  for (const [at, entry] of entries.entries()) {
    const well = typeof entry?.id === 'string' && ID.test(entry.id) && typeof entry.key === 'string'
    if (!well || Buffer.from(entry.key!, 'base64').length !== 32) {
      throw new BadSetting(
        `BERTH_KEYS: key ${at + 1} of the keyring ${place} needs an "id" and a "key" of 32 bytes in base64`,
      )
    }
  }
  if (new Set(entries.map(({ id }) => id)).size < entries.length)
    throw new BadSetting(`BERTH_KEYS: the keyring ${place} has an id twice`)
  return entries as Entry[]
}

function textOf(keys: Entry[]): string {
  return `${JSON.stringify({ keys }, null, 2)}\n`
}
