/** Writes docs/settings.md from the table of settings; with `--check`, says whether the one there is stale. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Setting } from '../src/platform/settings/types.ts'
import { SETTINGS } from '../src/settings.ts'

const INTRODUCTION = `# Settings

Made from \`src/settings.ts\` by \`npm run settings\`. Do not edit this page.

Berth reads its settings from environment variables, once, when it starts. Changes apply at the next start.

- An empty variable counts as not set.
- A bad setting ends the start with exit code 78 and one line that names it. \`berth doctor\` says the same.
- A value must not have quotes around it, white space at its ends, or capitals in the scheme of an address (\`S3://\`): \`docker --env-file\` and a file with the line ends of Windows leave quotes and carriage returns in the value.
- A variable that begins with \`BERTH_\` and is not on this page gives one warning, and changes nothing.
- **secret**: keep it from others. No message repeats it. It may also be a file of that name in the folder that \`CREDENTIALS_DIRECTORY\`
  names, as systemd, Compose and Kubernetes give secrets: [deploying.md](deploying.md#secrets). The variable overrides the file.
- **read again**: the setting names a file, and Berth loads a changed file without a restart.
`

/** The page: a table for each group, in the order of the rows. */
function settingsText(settings: Record<string, Setting>): string {
  const groups = Map.groupBy(Object.entries(settings), ([, { group }]) => group)
  return [INTRODUCTION, ...[...groups].map(([group, rows]) => `## ${group}\n\n${tableOf(rows)}\n`)].join('\n')
}

function tableOf(rows: [string, Setting][]): string {
  const lines = rows.map(([name, setting]) => {
    const notes = [setting.secret && '**secret**', setting.reloadable && '**read again**'].filter(Boolean).join(', ')
    const usual = setting.default === undefined ? setting.whenUnset : `\`${setting.default}\``
    return `| \`${name}\` | ${setting.type.values} | ${usual} | ${setting.description} | ${notes} |`
  })
  return ['| Name | Values | Default | Meaning | |', '| --- | --- | --- | --- | --- |', ...lines].join('\n')
}

const file = join(import.meta.dirname, '..', 'docs', 'settings.md')
const text = settingsText(SETTINGS)
if (!process.argv.includes('--check')) writeFileSync(file, text)
else if (readFileSync(file, 'utf8') !== text) {
  console.error('docs/settings.md is stale: run "npm run settings" and commit it')
  process.exit(1)
}
