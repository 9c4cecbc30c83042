/** TABLE Errors about users, teams, members and callers: rows of `REFUSALS` (../errors.ts) */
export const ACCOUNT_REFUSALS = {
  team_forbidden: [403, 'forbidden', 'You do not have access to the team that teamId or slug names.'],
  team_id_required: [
    403,
    'forbidden',
    'The token belongs to an installation on a team: every request must name the team by the query parameter teamId.',
  ],
  sign_in_again: [403, 'forbidden', 'Enter your password again: this requires a sign-in within the last hour.'],
  account_soft_blocked: [402, 'account_soft_blocked', 'The account is blocked. Contact the operator of this service.'],
  payment_method_missing: [
    402,
    'payment_method_missing',
    'The account is missing a payment. Update the payment method.',
  ],
  owner_only: [403, 'forbidden', 'Only an OWNER of the team can do this.'],
  identity_link_spent: [
    404,
    'not_found',
    'This link is incomplete, used, replaced or expired (24 hours). Sign in with the provider to get a new one.',
  ],
  identity_taken: [
    409,
    'conflict',
    'The user is already linked to another identity of the provider, or this identity to another user.',
  ],
  password_link_spent: [
    404,
    'not_found',
    'This link is incomplete, used, replaced or expired (24 hours). Request a new one.',
  ],
  email_link_spent: [
    404,
    'not_found',
    'This link is incomplete, used, replaced, expired (24 hours) or for another user.',
  ],
  invitation_over: [
    404,
    'not_found',
    'You have no such invitation: it was answered, withdrawn, expired (14 days) or is for another user.',
  ],
  unknown_user: [400, 'bad_request', 'There is no such user.'],
  unknown_team: [400, 'bad_request', 'There is no such team.'],
  slug_taken: [409, 'conflict', 'The name is already taken by a user or a team.'],
  too_many_slugs: [
    409,
    'conflict',
    'The account has 10 reserved former names, the maximum. Each is reserved for 90 days: reuse one, or wait.',
  ],
  member_exists: [409, 'conflict', 'The user is a member of the team already. Change the role instead.'],
  too_many_invitations: [409, 'conflict', 'The team has 100 pending invitations, the maximum. Withdraw some first.'],
  too_many_teams: [409, 'conflict', 'The user is OWNER of 20 teams already, the maximum. Leave or transfer one first.'],
  budget_used_up: [
    409,
    'budget_used_up',
    'The account has reached its limit for these. Remove some first, or ask the operator for more.',
  ],
  account_has_projects: [409, 'conflict', 'The account has projects. Remove them first, or use force.'],
  user_suspended: [409, 'conflict', 'The user is suspended. Restore their access first.'],
  last_owner: [409, 'conflict', 'The team would be left without an OWNER. Make another member OWNER first.'],
  second_factor_required: [403, 'forbidden', 'The team requires a second factor. Set one up and try again.'],
  second_factor_first: [
    409,
    'conflict',
    'Set up a second factor for yourself first, or you would lose access to the team.',
  ],
  last_way_in: [409, 'conflict', 'This is your last sign-in method. Set a password or add another passkey first.'],
  email_taken: [409, 'conflict', 'A user with this email already exists.'],
} as const satisfies Record<string, readonly [number, string, string]>

export type AccountRefusalKey = keyof typeof ACCOUNT_REFUSALS
