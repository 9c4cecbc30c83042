/** Reply of the attention report. docs/operations.md: Attention report. */
import type { Static } from 'typebox'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, OneOf, Timestamp } from '../../platform/schema/fields.ts'

/** Items per kind, oldest first. */
export const MAX_REPORTED = 50

/** TABLE Report kinds: title, in the order of the report. */
export const KINDS = {
  backups: 'Backups',
  'keyring-copy': 'Root keys without a verified copy',
  'tokens-of-suspended': 'Tokens of suspended users',
  'tokens-unused': 'Tokens that were not used for 90 days',
  'tokens-without-end': 'Tokens without an expiry',
  'teams-without-owner': 'Teams without an OWNER who can sign in',
  'integrations-without-owner': 'Integrations of teams without an OWNER who can sign in',
  'installations-disabled': 'Installations that are disabled',
  'endpoints-failing': 'Webhooks and log drains that fail, are disabled or on hold',
  'domains-pending': 'Domains unverified for 7 days',
  'projects-paused': 'Projects that are paused for 90 days',
  'people-never-seen': 'Users not seen for a year, or never',
} as const
export type Kind = keyof typeof KINDS

const AttentionItem = Type.Object({
  id: Nullable(Type.String()),
  what: Type.String({ description: 'the name of it' }),
  where: Nullable(Type.String({ description: 'slug of the account that has it, or the username of the user' })),
  since: Nullable(Type.Integer({ description: 'since when it is so' })),
  advice: Type.String({ description: 'what to do: a command, or an action on a page' }),
})
export type AttentionItem = Static<typeof AttentionItem>

const Section = Type.Object({
  kind: OneOf(...(Object.keys(KINDS) as Kind[])),
  title: Type.String(),
  count: Type.Integer({ description: 'how many there are' }),
  partial: Type.Boolean({ description: 'only the first 100000 rows were scanned' }),
  items: Type.Array(AttentionItem, { description: `the ${MAX_REPORTED} that wait the longest` }),
})
export type Section = Static<typeof Section>

export const Report = Type.Object({
  sections: Type.Array(Section, { description: 'the kinds that have items or are partial' }),
  at: Timestamp,
})
export type Report = Static<typeof Report>
