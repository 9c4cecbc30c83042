/** `berth backup` and `berth restore`. */
import type { Progress } from '../backup/progress.ts'
import type { KeyProof } from '../backup/proof.ts'
import type { Bar, Invocation, Outcome } from '../command-line/command.ts'
import { VERSION } from '../version.ts'
import { counted } from '../words.ts'

export async function backupCommand({ settings, value, has, progress }: Invocation): Promise<Outcome> {
  const { makeBackup } = await import('../backup/backup.ts')
  const options = { to: value('file-or-folder')!, version: VERSION, withKeys: has('with-keys') }
  const { file, manifest, keys, keysFile } = await makeBackup(settings(), options, barOf(progress))
  const rows = Object.values(manifest.rows).reduce((sum, count) => sum + count, 0)
  const lines = [
    `${file}: ${counted(rows, 'row')} of ${counted(Object.keys(manifest.rows).length, 'table')}, ${counted(manifest.bytes, 'byte')}`,
    `${file}.json: its SHA-256, ${manifest.sha256}`,
    ...(keysFile === undefined
      ? []
      : [`${keysFile}: the keyring. Keep it elsewhere: with both, everything can be read`]),
  ]
  return {
    data: { file, ...(keysFile && { keysFile }), manifest, keys },
    text: lines.join('\n'),
    warnings: await troubles(keys),
  }
}

export async function restoreCommand({ settings, value, has, progress }: Invocation): Promise<Outcome> {
  const { restoreBackup } = await import('../backup/restore.ts')
  const backup = value('backup')!
  const { manifest, migrated, keys, putAside } = await restoreBackup(
    settings(),
    { from: backup, force: has('force') },
    barOf(progress),
  )
  const warnings = await troubles(keys)
  const lines = [
    `restored ${backup}, begun at ${manifest.begunAt} from ${manifest.engine === 'sqlite' ? 'SQLite' : 'PostgreSQL'}`,
    ...migrated.map((name) => `applied ${name}`),
    ...(putAside === undefined ? [] : [`what was there before is now ${putAside}`]),
    ...(warnings.length === 0
      ? [`the keyring fits (${counted(keys.ids.length, 'root key')}, ${counted(keys.opened, 'value')} opened)`]
      : []),
  ]
  const data = { backup, manifest, migrated, keys, ...(putAside && { putAside }) }
  return { data, text: lines.join('\n'), warnings, code: warnings.length === 0 ? 0 : 1 }
}

async function troubles(keys: KeyProof): Promise<string[]> {
  return (await import('../backup/proof.ts')).keyTroubles(keys)
}

function barOf(bar: Bar): Progress {
  const parts = { copy: 'copying', check: 'checking' }
  return (part, done, total) => bar.show(parts[part], done, total)
}
