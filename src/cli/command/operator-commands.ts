/** The part of the table that speaks to the operator API of the running service. What is asked: operator.ts. */

import { ROLES } from '../../platform/permissions/roles.ts'
import type { Argument, Command, Option } from '../command-line/command.ts'

const userId: Argument = { name: 'user', about: 'id, username or email of a user' }
const teamId: Argument = { name: 'team', about: 'id or slug of a team' }
const integrationId: Argument = { name: 'integration', about: 'id or slug of an integration' }
const name: Option = { value: 'name', about: 'as people see it' }
const search: Option = { value: 'text', about: 'only those whose name has it' }
const force: Option = { about: 'also with projects, and as the last OWNER of a team' }
const scope: Option = { value: 'grant', about: 'such as read:project or read-write:domain', repeatable: true }

const ROWS: readonly Omit<Command, 'load'>[] = [
  {
    words: 'report',
    summary: 'Tell what needs attention: stale tokens, domains without a proof, endpoints that fail, what nobody owns',
    details: 'Each line says what, where, since when and what to do. It changes nothing. --json is for programs.',
    example: 'berth report',
  },
  {
    words: 'keys status',
    summary: 'List the root keys and what each one still wraps',
    example: 'berth keys status',
  },
  {
    words: 'keys rotate',
    summary: 'Make a new root key active and wrap every project key by it',
    details: 'Cut short, it is gone on with by the next call. Back the keyring up afterwards.',
    example: 'berth keys rotate',
  },
  {
    words: 'keys retire',
    summary: 'Retire a root key that wraps nothing any more',
    arguments: [{ name: 'key', about: 'id of a root key' }],
    example: 'berth keys retire rk_1234567890ab',
  },
  {
    words: 'audit verify',
    summary: 'Check the audit log: that no entry was changed, taken out or put in; ends with 1 when one was',
    arguments: [
      { name: 'head', about: 'a head that an earlier call printed: also proves that the end is there', optional: true },
    ],
    example: 'berth audit verify',
  },
  {
    words: 'user add',
    summary: 'Create a user',
    arguments: [
      { name: 'email', about: 'where letters go' },
      { name: 'username', about: 'lower case letters, digits, . _ -' },
    ],
    options: { name },
    example: 'berth user add ada@example.com ada --name "Ada Lovelace"',
  },
  {
    words: 'user list',
    summary: 'List the users',
    options: { search },
    example: 'berth user list --search ada',
  },
  {
    words: 'user show',
    summary: 'Show a user with teams, sessions and tokens',
    arguments: [userId],
    example: 'berth user show ada',
  },
  {
    words: 'user set',
    summary: 'Change the email, username or name of a user',
    arguments: [userId],
    options: {
      email: { value: 'email', about: 'where letters go' },
      username: { value: 'username', about: 'lower case letters, digits, . _ -' },
      name,
    },
    example: 'berth user set admin --email ops@example.com',
  },
  {
    words: 'user suspend',
    summary: 'Shut a user out: tokens and sessions end at once, what they set up is held, nothing is lost',
    arguments: [userId],
    example: 'berth user suspend ada',
  },
  {
    words: 'user resume',
    summary: 'Let a suspended user in again',
    arguments: [userId],
    example: 'berth user resume ada',
  },
  {
    words: 'user delete',
    summary: 'Remove a user for good, with email and name in every row',
    arguments: [userId],
    options: { force },
    example: 'berth user delete ada@example.com',
  },
  {
    words: 'user password-link',
    summary: 'Make and mail a link by which a user sets a password: once, within 24 hours',
    arguments: [userId],
    example: 'berth user password-link usr_1234',
  },
  {
    words: 'user second-factors rm',
    summary: 'Remove the one-time codes, passkeys and recovery codes of a user who lost them; the password stays',
    arguments: [userId],
    example: 'berth user second-factors rm ada',
  },
  {
    words: 'team add',
    summary: 'Create a team; its owner becomes OWNER',
    arguments: [{ name: 'slug', about: 'lower case letters, digits, . _ -' }],
    options: {
      owner: { value: 'user', about: 'id, username or email of its owner', required: true },
      name: { value: 'name', about: 'as people see it; the slug by default' },
      plan: { value: 'plan', about: 'what it pays for', oneOf: ['hobby', 'pro', 'enterprise'] },
    },
    example: 'berth team add acme --owner ada --name "Acme Inc." --plan pro',
  },
  {
    words: 'team list',
    summary: 'List the teams',
    options: { search },
    example: 'berth team list',
  },
  {
    words: 'team show',
    summary: 'Show a team with its members',
    arguments: [teamId],
    example: 'berth team show acme',
  },
  {
    words: 'team delete',
    summary: 'Remove a team for good',
    arguments: [teamId],
    options: { force },
    example: 'berth team delete acme --force',
  },
  {
    words: 'account plan',
    summary: 'Put a user or a team on another plan',
    arguments: [
      { name: 'account', about: 'id, slug, username or email' },
      { name: 'plan', about: 'hobby, pro or enterprise', oneOf: ['hobby', 'pro', 'enterprise'] },
    ],
    example: 'berth account plan acme enterprise',
  },
  {
    words: 'team member add',
    summary: 'Place a user in a team without asking them, or change the role',
    arguments: [teamId, userId],
    options: { role: { value: 'role', about: 'what the user may do', required: true, oneOf: ROLES } },
    example: 'berth team member add team_1234 usr_1234 --role DEVELOPER',
  },
  {
    words: 'team member rm',
    summary: 'Take a user out of a team',
    arguments: [teamId, userId],
    example: 'berth team member rm team_1234 usr_1234',
  },
  {
    words: 'token add',
    summary: 'Make a token for a user; it is shown this once',
    arguments: [userId],
    options: {
      name,
      team: { value: 'team', about: 'id or slug of the only team it acts for' },
      scope,
      project: { value: 'id', about: 'one of the only projects it sees', repeatable: true },
      expires: { value: 'days or moment', about: 'such as 30, or 2027-01-31T00:00:00Z; without it, never' },
    },
    example: 'berth token add usr_1234 --name ci --expires 90 --scope read:project',
  },
  {
    words: 'token list',
    summary: 'List the tokens, never their value',
    options: {
      search,
      user: { value: 'user', about: 'only those of this user' },
      'unused-days': { value: 'days', about: 'only those that were not used for so long' },
    },
    example: 'berth token list --unused-days 90',
  },
  {
    words: 'token revoke',
    summary: 'End a token by its value, read from stdin',
    details:
      'The value is no argument, since those are seen by others on the machine. It ends well also where there is no such token.',
    example: 'berth token revoke < leaked.txt',
  },
  {
    words: 'token rm',
    summary: 'End a token',
    arguments: [{ name: 'token', about: 'id of a token' }],
    example: 'berth token rm tok_1234',
  },
  {
    words: 'integration add',
    summary: 'Register an integration of a team; its secret is shown this once',
    arguments: [{ name: 'slug', about: 'lower case letters, digits and -' }],
    options: {
      team: { value: 'team', about: 'id or slug of the team that runs it', required: true },
      name: { value: 'name', about: 'as people see it; the slug by default' },
      'redirect-url': { value: 'URL', about: 'where people go with the code', required: true },
      'webhook-url': { value: 'URL', about: 'where its events go' },
      'logo-url': { value: 'URL', about: 'its picture' },
      scope,
    },
    example:
      'berth integration add mailer --team team_1234 --redirect-url https://mailer.example/back --scope read:project',
  },
  {
    words: 'integration list',
    summary: 'List the integrations',
    options: { team: { value: 'team', about: 'only those of this team' } },
    example: 'berth integration list --json',
  },
  {
    words: 'integration rm',
    summary: 'Remove an integration that nobody has installed',
    arguments: [integrationId],
    example: 'berth integration rm oac_1234',
  },
  {
    words: 'integration secret add',
    summary: 'Make a second client secret, beside the one in use; it is shown this once',
    arguments: [integrationId],
    example: 'berth integration secret add oac_1234',
  },
  {
    words: 'integration secret rm',
    summary: 'End a client secret',
    arguments: [integrationId, { name: 'secret', about: 'id of a secret' }],
    example: 'berth integration secret rm oac_1234 sec_1234',
  },
]

export const operatorCommands: readonly Command[] = ROWS.map((row) => ({
  ...row,
  load: async () => (await import('./operator.ts')).operatorCommand(row.words),
}))
