/** Commands of the operator API. operator.ts has their requests. */

import { ROLES } from '../../platform/permissions/roles.ts'
import type { Argument, Command, Option } from '../command-line/command.ts'
import { runnerRows } from './serve/runner-rows.ts'

const userId: Argument = { name: 'user', about: 'id, username or email of a user' }
const teamId: Argument = { name: 'team', about: 'id or slug of a team' }
const integrationId: Argument = { name: 'integration', about: 'id or slug of an integration' }
const name: Option = { value: 'name', about: 'the display name' }
const search: Option = { value: 'text', about: 'only those whose name contains it' }
const force: Option = { about: 'also with projects, and as the last OWNER of a team' }
const scope: Option = { value: 'grant', about: 'such as read:project or read-write:domain', repeatable: true }

const ROWS: readonly Omit<Command, 'load'>[] = [
  {
    words: 'report',
    summary: 'Report stale tokens, unverified domains, failing webhooks and resources without an owner',
    details:
      'Each line has the item, its location and age, and what to do. It changes nothing. --json is for programs.',
    example: 'berth report',
  },
  {
    words: 'keys status',
    summary: 'List the root keys and what each one still wraps',
    example: 'berth keys status',
  },
  {
    words: 'keys rotate',
    summary: 'Create a new active root key and rewrap every project key with it',
    details: 'If interrupted, run it again to resume. Back up the keyring afterwards.',
    example: 'berth keys rotate',
  },
  {
    words: 'keys retire',
    summary: 'Retire an unused root key',
    arguments: [{ name: 'key', about: 'id of a root key' }],
    example: 'berth keys retire rk_1234567890ab',
  },
  {
    words: 'audit verify',
    summary: 'Verify that no entry of the audit log was changed, deleted or inserted; exits with 1 when one was',
    arguments: [
      {
        name: 'head',
        about: 'a head that an earlier call printed: also verifies that no later part is missing',
        optional: true,
      },
    ],
    example: 'berth audit verify',
  },
  {
    words: 'user add',
    summary: 'Create a user',
    arguments: [
      { name: 'email', about: 'the email address' },
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
      email: { value: 'email', about: 'the email address' },
      username: { value: 'username', about: 'lower case letters, digits, . _ -' },
      name,
    },
    example: 'berth user set admin --email ops@example.com',
  },
  {
    words: 'user suspend',
    summary: 'Suspend a user: block access now, disable their installations and put their webhooks on hold',
    arguments: [userId],
    example: 'berth user suspend ada',
  },
  {
    words: 'user resume',
    summary: 'Resume a suspended user',
    arguments: [userId],
    example: 'berth user resume ada',
  },
  {
    words: 'user delete',
    summary: 'Delete a user permanently, with email and name in every row',
    arguments: [userId],
    options: { force },
    example: 'berth user delete ada@example.com',
  },
  {
    words: 'user password-link',
    summary: 'Create and email a single-use password link for a user, valid for 24 hours',
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
      name: { value: 'name', about: 'the display name; the slug by default' },
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
    summary: 'Delete a team permanently',
    arguments: [teamId],
    options: { force },
    example: 'berth team delete acme --force',
  },
  {
    words: 'account plan',
    summary: 'Change the plan of a user or a team',
    arguments: [
      { name: 'account', about: 'id, slug, username or email' },
      { name: 'plan', about: 'hobby, pro or enterprise', oneOf: ['hobby', 'pro', 'enterprise'] },
    ],
    example: 'berth account plan acme enterprise',
  },
  {
    words: 'team member add',
    summary: 'Add a user to a team without an invitation, or change the role',
    arguments: [teamId, userId],
    options: { role: { value: 'role', about: 'the role of the user', required: true, oneOf: ROLES } },
    example: 'berth team member add team_1234 usr_1234 --role DEVELOPER',
  },
  {
    words: 'team member rm',
    summary: 'Remove a user from a team',
    arguments: [teamId, userId],
    example: 'berth team member rm team_1234 usr_1234',
  },
  {
    words: 'token add',
    summary: 'Create a token for a user; it is shown only once',
    arguments: [userId],
    options: {
      name,
      team: { value: 'team', about: 'id or slug of the only team that it can access' },
      scope,
      project: { value: 'id', about: 'one of the only projects that it can access', repeatable: true },
      expires: { value: 'days or time', about: 'such as 30, or 2027-01-31T00:00:00Z; default: never' },
    },
    example: 'berth token add usr_1234 --name ci --expires 90 --scope read:project',
  },
  {
    words: 'token list',
    summary: 'List the tokens, never their value',
    options: {
      search,
      user: { value: 'user', about: 'only those of this user' },
      'unused-days': { value: 'days', about: 'only those that were unused for this long' },
    },
    example: 'berth token list --unused-days 90',
  },
  {
    words: 'token revoke',
    summary: 'Revoke a token by its value, read from stdin',
    details:
      'The value is not an argument, because other users of the machine can see those. An unknown token is not an error.',
    example: 'berth token revoke < leaked.txt',
  },
  {
    words: 'token rm',
    summary: 'Revoke a token',
    arguments: [{ name: 'token', about: 'id of a token' }],
    example: 'berth token rm tok_1234',
  },
  ...runnerRows,
  {
    words: 'integration add',
    summary: 'Register an integration of a team; its secret is shown only once',
    arguments: [{ name: 'slug', about: 'lower case letters, digits and -' }],
    options: {
      team: { value: 'team', about: 'id or slug of the team that runs it', required: true },
      name: { value: 'name', about: 'the display name; the slug by default' },
      'redirect-url': { value: 'URL', about: 'where users return with the code', required: true },
      'webhook-url': { value: 'URL', about: 'receives its events' },
      'logo-url': { value: 'URL', about: 'its logo' },
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
    summary: 'Delete an integration without installations',
    arguments: [integrationId],
    example: 'berth integration rm oac_1234',
  },
  {
    words: 'integration secret add',
    summary: 'Create a second client secret; it is shown only once',
    arguments: [integrationId],
    example: 'berth integration secret add oac_1234',
  },
  {
    words: 'integration secret rm',
    summary: 'Delete a client secret',
    arguments: [integrationId, { name: 'secret', about: 'id of a secret' }],
    example: 'berth integration secret rm oac_1234 sec_1234',
  },
]

export const operatorCommands: readonly Command[] = ROWS.map((row) => ({
  ...row,
  load: async () => (await import('./operator.ts')).operatorCommand(row.words),
}))
