/** Settings of scheduled backups: schedule, destination, retention. docs/backup.md: Scheduled backups. */

import { join } from 'node:path'
import { withoutTrailing } from '../base/text.ts'
import {
  BadSetting,
  BooleanSetting,
  readPath,
  type Setting,
  type SettingType,
  TokenSetting,
  type ValuesOf,
} from './types.ts'

/** `prefix` is empty or ends with a slash. */
export type BackupDestinationSetting = { folder: string } | { bucket: string; prefix: string }

/** `endpoint`: scheme and host. */
export type S3Settings = { endpoint: string; region: string; accessKeyId: string; secretAccessKey: string }

/** Number of intact backups to keep: latest, daily and weekly. */
export type BackupRetention = { last: number; daily: number; weekly: number }

/** Cron fields. The service validates them, so that the library is loaded only where this is set. */
const SCHEDULE: SettingType<string> = {
  values: 'five fields of cron, in UTC',
  read(name, text) {
    if (!/^[\d*,/-]+( +[\w*,/#?-]+){4}$/.test(text.trim()))
      throw new BadSetting(
        `${name} must be five fields of cron, such as "30 3 * * *" for each day at 3:30 UTC, not "${text}"`,
      )
    return text.trim()
  },
}

const PLACE: SettingType<BackupDestinationSetting> = {
  values: 'a path, or `s3://bucket/prefix`',
  read(name, text) {
    if (!/^s3:/i.test(text)) return { folder: readPath(name, text) }
    const place = readBucket(text)
    if (place === undefined)
      throw new BadSetting(`${name} must be a directory or a bucket, not "${text}": ${BUCKET_FORM}`)
    return bucketDestination(place)
  },
}

/** Format of a bucket destination, for messages. */
export const BUCKET_FORM =
  'write s3://bucket/key, with 3 to 63 lower-case letters, digits, "." and "-" for the bucket, and letters, digits, ".", "_", "-" and "/" for the key'

/** Parses `s3://bucket/key`; undefined for other texts. The key may be empty. */
export function readBucket(text: string): { bucket: string; key: string } | undefined {
  const match = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/((?:[\w.-]+\/)*[\w.-]*))?$/.exec(text)
  if (match === null || text.length > 600) return undefined
  const [, bucket = '', key = ''] = match
  return key.split('/').some((part) => part === '.' || part === '..') ? undefined : { bucket, key }
}

/** Converts a bucket key that names a directory to a destination. */
export function bucketDestination({ bucket, key }: { bucket: string; key: string }): BackupDestinationSetting {
  return { bucket, prefix: key === '' || key.endsWith('/') ? key : `${key}/` }
}

/** Some S3 servers are below a path, which is part of the signature. */
const ENDPOINT: SettingType<string> = {
  values: '`http://` or `https://`, host and port, with or without a path',
  read(name, text) {
    const url = URL.parse(text)
    if (url === null || !/^https?:$/.test(url.protocol) || /[?#@]/.test(text))
      throw new BadSetting(
        `${name} must be an http(s) URL without a user, a query and a fragment, such as https://s3.example.com, not "${text}"`,
      )
    return withoutTrailing(`${url.origin}${url.pathname}`, '/')
  },
}

const KEEP: SettingType<BackupRetention> = {
  values: 'counts of `last`, `daily` and `weekly`',
  read(name, text) {
    const counts = new Map<string, number>()
    for (const item of text.split(',')) {
      const match = /^\s*(last|daily|weekly)=(\d{1,3})\s*$/.exec(item)
      if (match === null) throw badKeep(name, text)
      counts.set(match[1]!, Number(match[2]))
    }
    const { last = 1, daily = 0, weekly = 0 } = Object.fromEntries(counts)
    if (last < 1) throw badKeep(name, text)
    return { last, daily, weekly }
  },
}

function badKeep(name: string, text: string): BadSetting {
  return new BadSetting(`${name} must be like last=3,daily=7,weekly=4, with last at least 1, not "${text}"`)
}

export const BACKUPS = {
  BERTH_BACKUP_SCHEDULE: {
    group: 'Backups',
    type: SCHEDULE,
    whenUnset: 'none: backups are manual',
    description:
      'When the service creates and verifies a backup and deletes old ones, such as `30 3 * * *`: [backup.md](backup.md#scheduled-backups).',
  },
  BERTH_BACKUP_TO: {
    group: 'Backups',
    type: PLACE,
    whenUnset: '`<BERTH_DATA>/backups`',
    description: 'Destination of scheduled backups: a directory, best on another disk, or a bucket.',
  },
  BERTH_BACKUP_KEEP: {
    group: 'Backups',
    type: KEEP,
    default: 'last=3,daily=7,weekly=4',
    description: 'How many scheduled backups to keep: of the last ones, and the newest per day and per week.',
  },
  BERTH_S3_ENDPOINT: {
    group: 'Backups',
    type: ENDPOINT,
    whenUnset: '`https://s3.<BERTH_S3_REGION>.amazonaws.com`',
    description: 'The server that speaks the S3 protocol, for `s3://`.',
  },
  BERTH_S3_REGION: {
    group: 'Backups',
    type: {
      values: 'letters, digits and `-`',
      read(name: string, text: string): string {
        if (!/^[A-Za-z0-9-]{1,63}$/.test(text))
          throw new BadSetting(`${name} must be like "eu-central-1", not "${text}"`)
        return text
      },
    },
    default: 'us-east-1',
    description: 'The region of the bucket, or what a server without regions expects.',
  },
  BERTH_S3_ACCESS_KEY_ID: {
    group: 'Backups',
    type: TokenSetting(1),
    whenUnset: 'none',
    description: 'The id of the access key for the bucket.',
  },
  BERTH_S3_SECRET_ACCESS_KEY: {
    group: 'Backups',
    type: TokenSetting(1),
    whenUnset: 'none',
    description: 'The secret of that key.',
    secret: true,
  },
  BERTH_KEYS_PASSPHRASE: {
    group: 'Backups',
    type: {
      values: '12 to 1000 characters',
      read(name: string, text: string): string {
        if (text.length < 12 || text.length > 1000) throw new BadSetting(`${name} must be 12 to 1000 characters`)
        return text
      },
    },
    whenUnset: 'read from a file or stdin',
    description:
      'The passphrase of encrypted copies of the keyring, for `berth keys`: [variables.md](variables.md#encrypted-keyring-copy).',
    secret: true,
  },
  BERTH_DRILL: {
    group: 'Backups',
    type: BooleanSetting(['on', 'off'], 'on'),
    default: 'off',
    description:
      'Set `on` for a restored copy next to production: it sends nothing and deletes nothing outside: [backup.md](backup.md#restore-next-to-production).',
  },
} as const satisfies Record<string, Setting>

type BackupValues = ValuesOf<typeof BACKUPS>

/** `schedule`: cron fields, in UTC; undefined: off. docs/backup.md: Scheduled backups. */
export type BackupSettings = { schedule: string | undefined; to: BackupDestinationSetting; keep: BackupRetention }

/** Returns the settings of scheduled backups. Throws BadSetting for a bucket without credentials. */
export function backupsOf(values: BackupValues & { BERTH_DATA: string }): BackupSettings {
  const { BERTH_BACKUP_SCHEDULE: schedule, BERTH_BACKUP_KEEP: keep, BERTH_DATA: dataFolder } = values
  const to = values.BERTH_BACKUP_TO ?? { folder: join(dataFolder, 'backups') }
  if ('bucket' in to && s3Of(values) === undefined)
    throw new BadSetting('BERTH_S3_ACCESS_KEY_ID must be set where BERTH_BACKUP_TO is a bucket')
  return { schedule, to, keep }
}

/** Returns the access to a bucket; undefined without a key. Throws BadSetting for a key without its secret. */
export function s3Of(values: BackupValues): S3Settings | undefined {
  const { BERTH_S3_REGION: region, BERTH_S3_ACCESS_KEY_ID: accessKeyId } = values
  const { BERTH_S3_SECRET_ACCESS_KEY: secretAccessKey } = values
  if (accessKeyId === undefined) return undefined
  if (secretAccessKey === undefined)
    throw new BadSetting('BERTH_S3_SECRET_ACCESS_KEY must be set where BERTH_S3_ACCESS_KEY_ID is')
  const endpoint = values.BERTH_S3_ENDPOINT ?? `https://s3.${region}.amazonaws.com`
  return { endpoint, region, accessKeyId, secretAccessKey }
}
