/**
 * TABLE Budgets: at most `max` rows of a table per owner, unless the operator sets another number (BERTH_BUDGETS). `platform/limiter/must-fit.ts`
 * enforces it. `bounds.ts` lists the tables without a budget. docs/limits.md: Budgets.
 */
import type { AccountRefusalKey } from './platform/base/account-errors.ts'

export type Budget = {
  max: number
  table: string
  /** The owner column; an index begins with it. */
  owner: string
  /** Which rows count, as SQL. */
  where?: string
  /** The owner, in the error message. */
  of: 'account' | 'person' | 'team'
  /** The counted objects, in the plural. */
  what: string
  remedy: string
  refusal: AccountRefusalKey
}

export const BUDGETS = {
  projects: {
    max: 50_000,
    table: 'project',
    owner: 'account_id',
    of: 'account',
    what: 'projects',
    remedy: 'Remove projects first.',
    refusal: 'budget_used_up',
  },
  domains: {
    max: 50_000,
    table: 'project_domain',
    owner: 'account_id',
    of: 'account',
    what: 'domains of projects',
    remedy: 'Remove domains from projects first.',
    refusal: 'budget_used_up',
  },
  'account-domains': {
    max: 10_000,
    table: 'account_domain',
    owner: 'account_id',
    of: 'account',
    what: 'domains of its own',
    remedy: 'Remove domains from the account first.',
    refusal: 'budget_used_up',
  },
  deployments: {
    max: 100_000,
    table: 'deployment',
    owner: 'account_id',
    of: 'account',
    what: 'deployments',
    remedy: 'Remove deployments first, or let projects keep them for fewer days.',
    refusal: 'budget_used_up',
  },
  integrations: {
    max: 100,
    table: 'integration',
    owner: 'team_id',
    of: 'team',
    what: 'integrations',
    remedy: 'Remove integrations first.',
    refusal: 'budget_used_up',
  },
  installations: {
    max: 500,
    table: 'configuration',
    owner: 'account_id',
    where: 'deleted_at is null',
    of: 'account',
    what: 'installations',
    remedy: 'Remove installations first.',
    refusal: 'budget_used_up',
  },
  tokens: {
    max: 1000,
    table: 'token',
    owner: 'user_id',
    where: 'configuration_id is null',
    of: 'person',
    what: 'tokens',
    remedy: 'Revoke tokens first.',
    refusal: 'budget_used_up',
  },
  teams: {
    max: 20,
    table: 'member',
    owner: 'user_id',
    where: "role = 'OWNER'",
    of: 'person',
    what: 'teams as OWNER',
    remedy: 'Leave one or hand one over first.',
    refusal: 'too_many_teams',
  },
  members: {
    max: 5000,
    table: 'member',
    owner: 'team_id',
    of: 'team',
    what: 'members',
    remedy: 'Remove members first.',
    refusal: 'budget_used_up',
  },
  invitations: {
    max: 100,
    table: 'invitation',
    owner: 'team_id',
    of: 'team',
    what: 'pending invitations',
    remedy: 'Withdraw some first.',
    refusal: 'too_many_invitations',
  },
} as const satisfies Record<string, Budget>

export type BudgetName = keyof typeof BUDGETS

/** Numbers of the operator that replace some of the table; null for no limit. */
export type BudgetSettings = Partial<Record<BudgetName, number | null>>
