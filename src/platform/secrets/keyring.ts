/** The keyring: root keys with ids, in a separate file or from a setting. It is never stored with the data that it seals. */
import type { KeyObject } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { BadSetting } from '../../config.ts'
import { createFileAtomically, writeFileAtomically } from '../adapters/atomic-file.ts'
import { readText } from '../adapters/file-errors.ts'
import { randomText } from '../base/ids.ts'
import { newKeyBytes, toSecretKey } from './seal.ts'

export type Keyring = {
  /** Its location, for messages. */
  place: string
  /** False when it came from a setting: Berth cannot change it. */
  changeable: boolean
  /** The ids in order: the first key becomes active in a database without an active key. */
  ids(): string[]
  /** The key of an id. The file is read again for an unknown id: another instance may have added it. */
  find(id: string): KeyObject | undefined
  /** Adds a new first key, synced to disk before this returns. Returns its id. */
  add(): string
  remove(id: string): void
}

type Entry = { id: string; key: string }
/** The stored form of a keyring. */
export type KeyringText = { keys: Entry[] }
const ID = /^[\w-]{1,64}$/

/**
 * Opens the keyring of the settings. Creates a missing file when `canCreate`: only a database without sealed data may get a new one, and only in an
 * existing directory. Throws with advice when it is missing, unreadable, or readable by others.
 */
export function openKeyring(setting: { file: string } | { text: string }, canCreate: () => boolean): Keyring {
  if ('text' in setting) return ringOf('BERTH_KEYS', parse(setting.text, 'in it'), undefined)
  const { file } = setting
  const entries = readEntries(file)
  if (entries !== undefined) return ringOf(file, entries, file)
  if (!canCreate()) {
    throw new BadSetting(
      `BERTH_KEYS: the keyring ${file} is missing, and this store was written with it. Put the file back from your backup, ` +
        'or point BERTH_KEYS at it. Without its keys the values of variables cannot be read by anyone.',
    )
  }
  return ringOf(file, createFile(file), file)
}

/** Reads the keyring of the settings with plaintext keys, to encrypt a copy. Throws when it does not exist. */
export function readKeyring(setting: { file: string } | { text: string }): KeyringText {
  if ('text' in setting) return parseKeyring(setting.text, 'in it')
  const keys = readEntries(setting.file)
  if (keys === undefined) throw new BadSetting(`BERTH_KEYS: there is no keyring at ${setting.file}`)
  return { keys }
}

/** Parses a keyring. Throws with the location and the problem, never the text. */
export function parseKeyring(text: string, place: string): KeyringText {
  return { keys: parse(text, place) }
}

/** Writes a keyring file. Returns false when it exists. Throws BadSetting where its directory does not exist. */
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

/** Of two instances that start together one creates the file; the other reads it. */
function createFile(file: string): Entry[] {
  mustHaveFolder(file)
  createFileAtomically(file, textOf([newEntry()]))
  return readEntries(file)!
}

/** The disk of the directory may be unmounted now. A keyring created there would seal values, and disappear once the disk is mounted. */
function mustHaveFolder(file: string): void {
  const directory = dirname(file)
  if (existsSync(directory)) return
  throw new BadSetting(
    `BERTH_KEYS: the folder ${directory} of the keyring is not there, and a keyring is not made without it. Mount its disk, or make the folder`,
  )
}

/** Undefined when there is no file. Throws when other users may read it. */
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

/** `{"keys": [{"id", "key"}]}`. Errors name the position only, because the text is secret. */
function parse(text: string, place: string): Entry[] {
  let keys: unknown
  try {
    keys = (JSON.parse(text) as { keys?: unknown } | null)?.keys
  } catch {
    throw new BadSetting(`BERTH_KEYS: the keyring ${place} is not JSON: fix it, or restore it from your backup`)
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
