/** What `berth report` tells: what waits for somebody, for how long, and what to do about it. docs/operations.md: What needs attention. */
import type { Static } from 'typebox'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, OneOf, Timestamp } from '../../platform/schema/fields.ts'

/** So many of each kind are told, those that wait the longest. */
export const MAX_REPORTED = 50

/** TABLE what is reported, in the order in which it is told, and the title of each. */
export const KINDS = {
  backups: 'Backups',
  'keyring-copy': 'Root keys without a verified copy',
  'tokens-of-suspended': 'Tokens of people who are suspended',
  'tokens-unused': 'Tokens that were not used for 90 days',
  'tokens-without-end': 'Tokens without an end',
  'teams-without-owner': 'Teams without an OWNER who can sign in',
  'integrations-without-owner': 'Integrations of teams without an OWNER who can sign in',
  'installations-disabled': 'Installations that are disabled',
  'endpoints-failing': 'Webhooks and log drains that fail, are disabled or are held',
  'domains-pending': 'Domains without a proof for 7 days',
  'projects-paused': 'Projects that are paused for 90 days',
  'people-never-seen': 'People who were not seen for a year, or never',
} as const
export type Kind = keyof typeof KINDS

const AttentionItem = Type.Object({
  id: Nullable(Type.String()),
  what: Type.String({ description: 'the name of it' }),
  where: Nullable(Type.String({ description: 'slug of the account that has it, or the username of the person' })),
  since: Nullable(Type.Integer({ description: 'since when it is so' })),
  advice: Type.String({ description: 'what to do: a command, or who does what on which page' }),
})
export type AttentionItem = Static<typeof AttentionItem>

const Section = Type.Object({
  kind: OneOf(...(Object.keys(KINDS) as Kind[])),
  title: Type.String(),
  count: Type.Integer({ description: 'how many there are' }),
  partial: Type.Boolean({ description: 'there are more than 100000 rows to look through, and the others were not' }),
  items: Type.Array(AttentionItem, { description: `the ${MAX_REPORTED} that wait the longest` }),
})
export type Section = Static<typeof Section>

export const Report = Type.Object({
  sections: Type.Array(Section, { description: 'the kinds of which there is something, or that are partial' }),
  at: Timestamp,
})
export type Report = Static<typeof Report>
