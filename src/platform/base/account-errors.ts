/** TABLE what is refused about users, teams, their members and who acts for a team: rows of `REFUSALS` (../errors.ts). */
export const ACCOUNT_REFUSALS = {
  team_forbidden: [403, 'forbidden', 'You do not have access to the team that teamId or slug names.'],
  team_id_required: [
    403,
    'forbidden',
    'The token belongs to an installation on a team: every request must name the team by the query parameter teamId.',
  ],
  sign_in_again: [403, 'forbidden', 'Give your password again: this asks for a sign-in within the last hour.'],
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
    'The link is not whole, was used or replaced, or is older than 24 hours. Sign in by the provider again for a new one.',
  ],
  identity_taken: [
    409,
    'conflict',
    'The person signs in by the provider as somebody else already, or somebody else as them.',
  ],
  password_link_spent: [
    404,
    'not_found',
    'The link is not whole, was used or replaced, or is older than 24 hours. Ask for a new one.',
  ],
  email_link_spent: [
    404,
    'not_found',
    'The link is not whole, was used or replaced, is older than 24 hours, or is for somebody else.',
  ],
  invitation_over: [
    404,
    'not_found',
    'There is no such invitation for you: it was answered or taken back, is older than 14 days, or is for somebody else.',
  ],
  unknown_user: [400, 'bad_request', 'There is no such user.'],
  unknown_team: [400, 'bad_request', 'There is no such team.'],
  slug_taken: [409, 'conflict', 'The name is already taken by a user or a team.'],
  too_many_slugs: [
    409,
    'conflict',
    '10 names that the account gave up are kept for it, which is the most. Each is kept for 90 days: go back to one, or wait.',
  ],
  member_exists: [409, 'conflict', 'The user is a member of the team already. Change the role instead.'],
  too_many_invitations: [
    409,
    'conflict',
    '100 invitations of the team wait for an answer, which is the most. Take some back first.',
  ],
  too_many_teams: [
    409,
    'conflict',
    'The person is OWNER of 20 teams already, which is the most. Leave one or hand one over first.',
  ],
  budget_used_up: [
    409,
    'budget_used_up',
    'The account has the most of these that it may. Remove some first, or ask the operator for more.',
  ],
  account_has_projects: [409, 'conflict', 'The account has projects. Remove them first, or say force.'],
  user_suspended: [409, 'conflict', 'The user is suspended. Let them in again first.'],
  last_owner: [409, 'conflict', 'The team would be left without an OWNER. Make another member OWNER first.'],
  second_factor_required: [
    403,
    'forbidden',
    'The team asks its members for a second factor. Set one up, and try again.',
  ],
  second_factor_first: [409, 'conflict', 'Set up a second factor for yourself first: the team would shut you out.'],
  last_way_in: [409, 'conflict', 'This is your last way in. Set a password or add another passkey first.'],
  email_taken: [409, 'conflict', 'A user with this email already exists.'],
} as const satisfies Record<string, readonly [number, string, string]>

export type AccountRefusalKey = keyof typeof ACCOUNT_REFUSALS
