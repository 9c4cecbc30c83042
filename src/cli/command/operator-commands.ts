/** Commands of the operator API. operator.ts has their requests. */

import { ROLES } from '../../platform/permissions/roles.ts'
import type { Argument, Command, Option } from '../command-line/command.ts'
import { runnerRows } from './serve/runner-rows.ts'

const userId: Argument = { name: 'user', description: 'id, username or email of a user' }
const teamId: Argument = { name: 'team', description: 'id or slug of a team' }
const integrationId: Argument = { name: 'integration', description: 'id or slug of an integration' }
const name: Option = { value: 'name', description: 'the display name' }
const search: Option = { value: 'text', description: 'only those whose name contains it' }
const force: Option = { description: 'also with projects, and as the last OWNER of a team' }
const scope: Option = { value: 'grant', description: 'such as read:project or read-write:domain', repeatable: true }

const ROWS: readonly Omit<Command, 'load'>[] = [
  {
    name: 'report',
    summary: 'Report stale tokens, unverified domains, failing webhooks and resources without an owner',
    details:
      'Each line has the item, its location and age, and what to do. It changes nothing. --json is for programs.',
    example: 'berth report',
  },
  {
    name: 'keys status',
    summary: 'List the root keys and what each one still wraps',
    example: 'berth keys status',
  },
  {
    name: 'keys rotate',
    summary: 'Create a new active root key and rewrap every project key with it',
    details: 'If interrupted, run it again to resume. Back up the keyring afterwards.',
    example: 'berth keys rotate',
  },
  {
    name: 'keys retire',
    summary: 'Retire an unused root key',
    details: 'Backups from before the rotation need it: keep a copy of the keyring that has it.',
    arguments: [{ name: 'key', description: 'id of a root key' }],
    example: 'berth keys retire rk_1234567890ab',
  },
  {
    name: 'audit verify',
    summary: 'Verify that no entry of the audit log was changed, deleted or inserted; exits with 1 when one was',
    arguments: [
      {
        name: 'head',
        description: 'a head that an earlier call printed: also verifies that no later part is missing',
        optional: true,
      },
    ],
    example: 'berth audit verify',
  },
  {
    name: 'user add',
    summary: 'Create a user',
    arguments: [
      { name: 'email', description: 'the email address' },
      { name: 'username', description: 'lower case letters, digits, . _ -' },
    ],
    options: { name },
    example: 'berth user add ada@example.com ada --name "Ada Lovelace"',
  },
  {
    name: 'user list',
    summary: 'List the users',
    options: { search },
    example: 'berth user list --search ada',
  },
  {
    name: 'user show',
    summary: 'Show a user with teams, sessions and tokens',
    arguments: [userId],
    example: 'berth user show ada',
  },
  {
    name: 'user set',
    summary: 'Change the email, username or name of a user',
    arguments: [userId],
    options: {
      email: { value: 'email', description: 'the email address' },
      username: { value: 'username', description: 'lower case letters, digits, . _ -' },
      name,
    },
    example: 'berth user set admin --email ops@example.com',
  },
  {
    name: 'user suspend',
    summary: 'Suspend a user: block access now, disable their installations and put their webhooks on hold',
    arguments: [userId],
    example: 'berth user suspend ada',
  },
  {
    name: 'user resume',
    summary: 'Resume a suspended user',
    arguments: [userId],
    example: 'berth user resume ada',
  },
  {
    name: 'user delete',
    summary: 'Delete a user permanently, with email and name in every row',
    arguments: [userId],
    options: { force },
    example: 'berth user delete ada@example.com',
  },
  {
    name: 'user password-link',
    summary: 'Create and email a single-use password link for a user, valid for 24 hours',
    arguments: [userId],
    example: 'berth user password-link usr_1234',
  },
  {
    name: 'user second-factors rm',
    summary: 'Remove the one-time codes, passkeys and recovery codes of a user who lost them; the password stays',
    arguments: [userId],
    example: 'berth user second-factors rm ada',
  },
  {
    name: 'team add',
    summary: 'Create a team; its owner becomes OWNER',
    arguments: [{ name: 'slug', description: 'lower case letters, digits, . _ -' }],
    options: {
      owner: { value: 'user', description: 'id, username or email of its owner', required: true },
      name: { value: 'name', description: 'the display name; the slug by default' },
      plan: { value: 'plan', description: 'what it pays for', oneOf: ['hobby', 'pro', 'enterprise'] },
    },
    example: 'berth team add acme --owner ada --name "Acme Inc." --plan pro',
  },
  {
    name: 'team list',
    summary: 'List the teams',
    options: { search },
    example: 'berth team list',
  },
  {
    name: 'team show',
    summary: 'Show a team with its members',
    arguments: [teamId],
    example: 'berth team show acme',
  },
  {
    name: 'team delete',
    summary: 'Delete a team permanently',
    arguments: [teamId],
    options: { force: { description: 'also with projects' } },
    example: 'berth team delete acme --force',
  },
  {
    name: 'account plan',
    summary: 'Change the plan of a user or a team',
    arguments: [
      { name: 'account', description: 'id, slug, username or email' },
      { name: 'plan', description: 'hobby, pro or enterprise', oneOf: ['hobby', 'pro', 'enterprise'] },
    ],
    example: 'berth account plan acme enterprise',
  },
  {
    name: 'team member add',
    summary: 'Add a user to a team without an invitation, or change the role',
    arguments: [teamId, userId],
    options: { role: { value: 'role', description: 'the role of the user', required: true, oneOf: ROLES } },
    example: 'berth team member add team_1234 usr_1234 --role DEVELOPER',
  },
  {
    name: 'team member rm',
    summary: 'Remove a user from a team',
    arguments: [teamId, userId],
    example: 'berth team member rm team_1234 usr_1234',
  },
  {
    name: 'token add',
    summary: 'Create a token for a user; it is shown only once',
    arguments: [userId],
    options: {
      name,
      team: { value: 'team', description: 'id or slug of the only team that it can access' },
      scope,
      project: { value: 'id', description: 'one of the only projects that it can access', repeatable: true },
      expires: { value: 'days or time', description: 'such as 30, or 2027-01-31T00:00:00Z; default: never' },
    },
    example: 'berth token add usr_1234 --name ci --expires 90 --scope read:project',
  },
  {
    name: 'token list',
    summary: 'List the tokens, never their value',
    options: {
      search,
      user: { value: 'user', description: 'only those of this user' },
      'unused-days': { value: 'days', description: 'only those that were unused for this long' },
    },
    example: 'berth token list --unused-days 90',
  },
  {
    name: 'token revoke',
    summary: 'Revoke a token by its value, read from stdin',
    details:
      'The value is not an argument, because other users of the machine can see those. An unknown token is not an error.',
    example: 'berth token revoke < leaked.txt',
  },
  {
    name: 'token rm',
    summary: 'Revoke a token',
    arguments: [{ name: 'token', description: 'id of a token' }],
    example: 'berth token rm tok_1234',
  },
  ...runnerRows,
  {
    name: 'integration add',
    summary: 'Register an integration of a team; its secret is shown only once',
    arguments: [{ name: 'slug', description: 'lower case letters, digits and -' }],
    options: {
      team: { value: 'team', description: 'id or slug of the team that runs it', required: true },
      name: { value: 'name', description: 'the display name; the slug by default' },
      'redirect-url': { value: 'URL', description: 'where users return with the code', required: true },
      'webhook-url': { value: 'URL', description: 'receives its events' },
      'logo-url': { value: 'URL', description: 'its logo' },
      scope,
    },
    example:
      'berth integration add mailer --team team_1234 --redirect-url https://mailer.example/back --scope read:project',
  },
  {
    name: 'integration list',
    summary: 'List the integrations',
    options: { team: { value: 'team', description: 'only those of this team' } },
    example: 'berth integration list --json',
  },
  {
    name: 'integration rm',
    summary: 'Delete an integration without installations',
    arguments: [integrationId],
    example: 'berth integration rm oac_1234',
  },
  {
    name: 'integration secret add',
    summary: 'Create a second client secret; it is shown only once',
    arguments: [integrationId],
    example: 'berth integration secret add oac_1234',
  },
  {
    name: 'integration secret rm',
    summary: 'Delete a client secret',
    arguments: [integrationId, { name: 'secret', description: 'id of a secret' }],
    example: 'berth integration secret rm oac_1234 sec_1234',
  },
]

export const operatorCommands: readonly Command[] = ROWS.map((row) => ({
  ...row,
  load: async () => (await import('./operator.ts')).operatorCommand(row.name),
}))
