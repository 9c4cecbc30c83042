/** `berth keys export`, `verify` and `import`: an encrypted keyring copy elsewhere. docs/variables.md: Encrypted keyring copy. */
import { existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { BadSetting, type Config } from '../../config.ts'
import { writeFileAtomically } from '../../platform/adapters/atomic-file.ts'
import { createDirectory } from '../../platform/adapters/directory.ts'
import { readText } from '../../platform/adapters/file-errors.ts'
import type { Bucket } from '../../platform/adapters/s3.ts'
import { pluralize } from '../../platform/base/text.ts'
import { readKeyring, writeKeyring } from '../../platform/secrets/keyring.ts'
import { isCopy, keyProof, openKeyringCopy, sealKeyringCopy } from '../../platform/secrets/keyring-copy.ts'
import { BadUsage, type CommandResult, type Invocation } from '../command-line/command.ts'
import { parseFileLocation } from '../command-line/location.ts'
import { callService } from './service-client.ts'

const NEVER = new AbortController().signal
const MIN_PASSPHRASE = 12

/** Encrypts the keyring and writes it to a file or a bucket. Rejects the disk of the keyring and the database, unless forced. */
export async function exportKeysCommand(invocation: Invocation): Promise<CommandResult> {
  const config = invocation.settings()
  const place = invocation.value('to')!
  const isHere = isOnSameDisk(config, place)
  if (isHere && !invocation.has('same-disk'))
    throw new Error(
      `${place} is on the disk of the keyring or of the store, and is lost with it: name another place, or say --same-disk and carry it elsewhere`,
    )
  const keyring = readKeyring(config.keys)
  const passphrase = readPassphrase(invocation, config)
  if (passphrase.length < MIN_PASSPHRASE)
    throw new BadUsage(`the passphrase has less than ${MIN_PASSPHRASE} characters: take a longer one`)
  await writeCopy(config, place, await sealKeyringCopy(keyring, passphrase, new Date().toISOString()))
  const ids = keyring.keys.map(({ id }) => id)
  const next = isHere ? 'carry it to another place, then verify it there' : `now run berth keys verify ${place}`
  return { data: { place, keyIds: ids }, text: `${place}: ${pluralize(ids.length, 'root key')}, encrypted; ${next}` }
}

/** Opens a copy and reports its root keys to the running service. Exits with 1 when one is missing. */
export async function verifyKeysCommand(invocation: Invocation): Promise<CommandResult> {
  const config = invocation.settings()
  const place = invocation.value('copy')!
  const copy = await readCopy(config, place)
  const isHere = isOnSameDisk(config, place)
  if (isHere && !invocation.has('same-disk'))
    throw new Error(
      `${place} is on the disk of the keyring or of the store, and is lost with it: verify the copy at the other place, or say --same-disk, which does not count`,
    )
  const { keys } = await openKeyringCopy(copy, readPassphrase(invocation, config), place)
  const ids = keys.map(({ id }) => id)
  if (isHere)
    return {
      data: { place, keyIds: ids, verified: false },
      text: `${place} opens: ${pluralize(ids.length, 'root key')}. It is on the same disk, so it does not count as verified`,
    }
  const body = { place, keys: keys.map(({ id, key }) => ({ id, proof: keyProof(id, Buffer.from(key, 'base64')) })) }
  const answer = await callService(config, { method: 'POST', path: '/operator/v1/keys/copies', body, as: 'operator' })
  const { verified, missing } = answer as { verified: string[]; missing: string[] }
  const lacks = missing.length === 0 ? '' : `. No verified copy holds ${missing.join(', ')}: export again`
  return {
    data: { place, keyIds: ids, verified: missing.length === 0, missing },
    text: `${place} holds ${pluralize(verified.length, 'root key')} in use${lacks}`,
    code: missing.length === 0 ? 0 : 1,
  }
}

/** Writes the keyring of a copy to BERTH_KEYS, if none exists. */
export async function importKeysCommand(invocation: Invocation): Promise<CommandResult> {
  const config = invocation.settings()
  const place = invocation.value('copy')!
  if ('text' in config.keys) throw new BadSetting('BERTH_KEYS holds the keyring itself: set it to a path to import one')
  const { file } = config.keys
  if (existsSync(file)) throw new Error(`there is a keyring at ${file} already: move it away first`)
  const keyring = await openKeyringCopy(await readCopy(config, place), readPassphrase(invocation, config), place)
  // The service also creates the data directory, but no other one for the keyring.
  if (resolve(dirname(file)) === resolve(config.dataDirectory)) createDirectory(config.dataDirectory)
  if (!writeKeyring(file, keyring)) throw new Error(`there is a keyring at ${file} already: move it away first`)
  const ids = keyring.keys.map(({ id }) => id)
  return { data: { file, keyIds: ids }, text: `${file}: ${pluralize(ids.length, 'root key')} of ${place}` }
}

/** Whether a file would be lost with the keyring or the database. A bucket would not. */
function isOnSameDisk({ keys, dataDirectory, database }: Config, place: string): boolean {
  if ('bucket' in parseFileLocation(place, 'object')) return false
  const files = [dataDirectory, ...('file' in keys ? [keys.file] : []), ...('file' in database ? [database.file] : [])]
  const disks = new Set(files.filter((file) => existsSync(file)).map((file) => statSync(file).dev))
  return disks.has(statSync(nearest(resolve(place))).dev)
}

function nearest(path: string): string {
  return existsSync(path) ? path : nearest(dirname(path))
}

function readPassphrase(invocation: Invocation, { keysPassphrase }: Config): string {
  const file = invocation.value('passphrase-file')
  if (file === undefined && keysPassphrase !== undefined) return keysPassphrase
  // A terminal would echo the input.
  if (file === undefined && process.stdin.isTTY)
    throw new BadUsage('no passphrase: say --passphrase-file, set BERTH_KEYS_PASSPHRASE, or give it on stdin')
  return readText(file ?? '-').split(/\r?\n/, 1)[0]!
}

async function writeCopy(config: Config, place: string, text: string): Promise<void> {
  const at = parseFileLocation(place, 'object')
  if ('bucket' in at) return (await bucketOf(config, at.bucket)).put(at.key, text, NEVER)
  const file = resolve(place)
  if (existsSync(file) && !isCopy(readText(file)))
    throw new Error(`${file} is there already, and is not a copy of a keyring: name another file`)
  createDirectory(dirname(file))
  writeFileAtomically(file, text)
}

async function readCopy(config: Config, place: string): Promise<string> {
  const at = parseFileLocation(place, 'object')
  if ('file' in at) return readText(resolve(at.file))
  const text = await (await bucketOf(config, at.bucket)).get(at.key, NEVER)
  if (text === undefined) throw new Error(`${place} is not there`)
  return text.toString()
}

async function bucketOf({ s3 }: Config, name: string): Promise<Bucket> {
  if (s3 === undefined)
    throw new BadSetting('BERTH_S3_ACCESS_KEY_ID and BERTH_S3_SECRET_ACCESS_KEY must be set for a bucket')
  const { openBucket } = await import('../../platform/adapters/s3.ts')
  return openBucket(s3, name)
}
