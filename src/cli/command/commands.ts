/** TABLE Commands of `berth`. Help, completion and docs/command-line.md use it. */
import type { Command, Option } from '../command-line/command.ts'
import { linkCommands } from './link/commands.ts'
import { operatorCommands } from './operator-commands.ts'
import { serveCommands } from './serve/commands.ts'

const TARGETS = ['production', 'preview', 'development'] as const
const target = {
  value: 'target',
  required: true,
  description: 'production, preview, development, or a custom environment by slug or id',
  suggestions: TARGETS,
} as const satisfies Option
const team: Option = { value: 'id or slug', description: 'the team of the project; default: the team of the token' }
const gitBranch: Option = { value: 'branch', description: 'the variables of this branch (preview only)' }
const project = { name: 'project', description: 'id or name' }
const TOKEN = 'The token is BERTH_TOKEN, or the first one, of credentials.json in the data directory.'

const PASSPHRASE = 'The passphrase comes from --passphrase-file, from BERTH_KEYS_PASSPHRASE, or from stdin.'
const passphrase: Record<string, Option> = {
  'passphrase-file': { value: 'file', description: 'a file whose first line is the passphrase', isFile: true },
}
const keyringCopy = {
  name: 'copy',
  description: 'a file that berth keys export wrote, or s3://bucket/key',
  isFile: true,
  inBucket: 'object',
} as const

export const COMMANDS: readonly Command[] = [
  ...serveCommands,
  {
    name: 'welcome',
    summary: 'Print the setup link for the first user',
    details: 'It works once. BERTH_DATA is the data directory of the first start, and the service must run.',
    example: 'berth welcome',
    load: async () => (await import('./welcome.ts')).welcomeCommand,
  },
  ...linkCommands,
  {
    name: 'migrate',
    summary: 'Migrate the database to this version, and print which migrations ran',
    details: 'A start does the same. On SQLite nothing else may run; on PostgreSQL an older instance may.',
    example: 'berth migrate',
    load: async () => (await import('./migrate.ts')).migrateCommand,
  },
  {
    name: 'backup',
    summary: 'Back up the database to one file, while the service runs',
    arguments: [
      {
        name: 'file-or-folder',
        description:
          'a new file, a directory for a file named by the time, or s3://bucket/prefix or s3://bucket/key.db',
        isFile: true,
        inBucket: 'object or folder',
      },
    ],
    options: {
      'with-keys': {
        description: 'copy the keyring too, to <file>.keys.json (mode 0600): keep it elsewhere than the backup',
      },
    },
    details: 'The file has every table of either engine, <file>.json its SHA-256. It does not have the keyring.',
    example: 'berth backup backups/',
    load: async () => (await import('./backup.ts')).backupCommand,
  },
  {
    name: 'backup verify',
    summary: 'Verify a backup: every page and row, its audit log, and that the current keys decrypt its values',
    arguments: [
      {
        name: 'backup',
        description: 'a file that berth backup wrote, or s3://bucket/key',
        optional: true,
        isFile: true,
        inBucket: 'object',
      },
    ],
    options: { newest: { description: 'the newest backup of BERTH_BACKUP_TO' } },
    details: 'Exits with 65 for a corrupt backup, with 1 for an unreadable one. The service records the result.',
    example: 'berth backup verify --newest',
    load: async () => (await import('./backup.ts')).verifyCommand,
  },
  {
    name: 'restore',
    summary: 'Restore a backup into the configured database, on either engine',
    arguments: [
      {
        name: 'backup',
        description: 'a file that berth backup wrote, with its .json next to it, or s3://bucket/key',
        isFile: true,
        inBucket: 'object',
      },
    ],
    options: {
      force: {
        description: 'also when the database has data: SQLite keeps it under another name, PostgreSQL loses it',
      },
    },
    details: 'Stop the service first. The backup may be of the other engine, or of an older version of Berth.',
    example: 'DATABASE_URL=postgres://berth@db/berth berth restore backups/berth-2026-11-21T08-00-00.000Z.db',
    load: async () => (await import('./backup.ts')).restoreCommand,
  },
  {
    name: 'doctor',
    summary: 'Check settings, keyring, database, DNS, email, directories, clock, ports and disk, and print what to do',
    options: { build: { description: 'also build a project of three lines, request its page and remove it' } },
    details: `Exits with 1 when a check fails. Works whether or not the service runs; --build needs it. ${TOKEN}`,
    example: 'berth doctor --build',
    load: async () => (await import('./doctor.ts')).doctorOrBuild,
  },
  ...operatorCommands,
  {
    name: 'keys export',
    summary: 'Write a copy of the keyring, encrypted with a passphrase, for off-site storage',
    options: {
      to: {
        value: 'file or s3://bucket/key',
        description: 'where the copy goes: on another disk than the keyring',
        required: true,
        isFile: true,
        inBucket: 'object',
      },
      ...passphrase,
      'same-disk': {
        description: 'write it to the disk of the keyring anyway: move it elsewhere, then verify it there',
      },
    },
    details: `Verify the copy afterwards. ${PASSPHRASE}`,
    example: 'berth keys export --to s3://my-bucket/keyring.json --passphrase-file passphrase.txt',
    load: async () => (await import('./keys.ts')).exportKeysCommand,
  },
  {
    name: 'keys verify',
    summary: 'Open a copy of the keyring, and have the service compare each root key with those in use',
    arguments: [keyringCopy],
    options: {
      ...passphrase,
      'same-disk': { description: 'also on the disk of the keyring, which does not count as verified' },
    },
    details: `Exits with 1 when a root key is missing in it. Doctor and metrics warn until it is verified. ${PASSPHRASE}`,
    example: 'berth keys verify s3://my-bucket/keyring.json < passphrase.txt',
    load: async () => (await import('./keys.ts')).verifyKeysCommand,
  },
  {
    name: 'keys import',
    summary: 'Restore the keyring from a copy, if none exists',
    arguments: [keyringCopy],
    options: passphrase,
    details: `It is written to BERTH_KEYS, which must not exist. ${PASSPHRASE}`,
    example: 'berth keys import s3://my-bucket/keyring.json < passphrase.txt',
    load: async () => (await import('./keys.ts')).importKeysCommand,
  },
  {
    name: 'audit export',
    summary: 'Write the audit log to a file, as lines of JSON with every link of its chain',
    arguments: [
      { name: 'file', description: 'the file; an existing one is replaced once the new one is complete', isFile: true },
    ],
    options: {
      since: { value: 'time', description: 'the start, such as 2026-11-01T00:00:00Z; default: the first entry' },
      until: { value: 'time', description: 'the end' },
    },
    details: 'The file can be checked without Berth: docs/operations.md: Audit log.',
    example: 'berth audit export audit.jsonl --since 2026-11-01',
    load: async () => (await import('./audit.ts')).exportAuditCommand,
  },
  {
    name: 'env import',
    summary: 'Import the variables of a .env file into a project',
    arguments: [project, { name: 'file', description: 'the .env file; - for stdin', isFile: true }],
    options: {
      target: { ...target, description: `which deployments get them: ${target.description}`, repeatable: true },
      'git-branch': gitBranch,
      type: { value: 'type', description: 'of keys that are new', oneOf: ['plain', 'encrypted', 'sensitive'] },
      team,
      'dry-run': { description: 'print the changes without making them' },
    },
    details: `Existing variables keep their type; variables missing in the file stay. Values are never printed. ${TOKEN}`,
    example: 'berth env import web .env.production --target production',
    load: async () => (await import('./env.ts')).importCommand,
  },
  {
    name: 'env export',
    summary: 'Print the variables of a target as .env text, with decrypted values',
    arguments: [project],
    options: {
      target: { ...target, description: `whose variables: ${target.description}` },
      'git-branch': gitBranch,
      out: { value: 'file', description: 'write them to a file (mode 0600) instead of printing them', isFile: true },
      team,
    },
    details: TOKEN,
    example: 'berth env export web --target development --out .env',
    load: async () => (await import('./env.ts')).exportCommand,
  },
  {
    name: 'import',
    summary: 'Copy projects, variables, domains and more from another server that speaks this API',
    options: {
      from: { value: 'address', required: true, description: 'of the API there, such as https://api.example.com' },
      token: {
        value: 'token',
        description: 'of the API there; others see it in the list of processes: see --token-file',
      },
      'token-file': {
        value: 'file',
        description: 'a file that contains only the token; - for stdin',
        isFile: true,
      },
      team: { value: 'id or slug', description: 'the team there; without it, the personal account of the token' },
      'to-team': { value: 'id or slug', description: 'the team here; default: the one with the same name' },
      projects: { value: 'a,b', description: 'only these projects, and nothing else of the account' },
      'dry-run': { description: 'show the plan without running it' },
      yes: { description: 'do not prompt for confirmation' },
    },
    details: `It shows its plan first. Identical data is skipped, and nothing is removed: run it again after an interruption. See docs/moving-in.md. ${TOKEN}`,
    example: 'berth import --from https://api.example.com --token-file there.token --team acme --dry-run',
    load: async () => (await import('./import/import.ts')).importAccount,
  },
  {
    name: 'export',
    summary: 'Write the projects, variables and domains of an account into a directory of JSON and .env files',
    arguments: [{ name: 'folder', description: 'a new or an empty one', isFile: true }],
    options: { team: { value: 'id or slug', description: 'whose; without it, the personal account of the token' } },
    details: `The .env files contain decrypted values, and only you can read them (mode 0600). ${TOKEN}`,
    example: 'berth export acme-2026-11-22 --team acme',
    load: async () => (await import('./export.ts')).exportAccount,
  },
  {
    name: 'completion',
    summary: 'Print a shell completion script for these commands',
    arguments: [{ name: 'shell', description: 'bash, zsh or fish', oneOf: ['bash', 'zsh', 'fish'] }],
    example: 'berth completion bash > ~/.local/share/bash-completion/completions/berth',
    load: async () => (await import('../command-line/completion.ts')).completionOf(COMMANDS),
  },
]
