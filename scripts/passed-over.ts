/** Client fields that Berth ignores or refuses, for docs/clients.md, from the route table. */
import type { Route } from '../src/platform/http/route.ts'

const [BEGIN, END] = ['<!-- fields: npm run openapi -->', '<!-- end of fields -->']

/** Values that the newest SDK lists for a field and Berth refuses, by the end of the field's path. */
export const REFUSED_VALUES: Record<string, { values: readonly string[]; why: string }> = {
  'delivery.compression': { values: ['gzip'], why: 'lines are not compressed (docs/webhooks.md: Log drains)' },
  'delivery.encoding': { values: ['proto'], why: 'lines are JSON (docs/webhooks.md: Log drains)' },
  role: {
    values: ['SECURITY', 'VIEWER_FOR_PLUS', 'CONTRIBUTOR'],
    why: 'Berth has the five roles of its specification (docs/accounts.md)',
  },
  'gitRepository.type': {
    values: ['github-limited', 'vercel', 'cursor-origin'],
    why: 'Berth knows GitHub, GitLab and Bitbucket (docs/git-links.md)',
  },
  installationType: { values: ['provisioning'], why: 'installed only by consent or by the operator' },
}

/** The page with a regenerated list of fields. */
export function withFields(page: string, routes: readonly Route[]): string {
  const [before, rest] = page.split(BEGIN, 2)
  const after = rest?.split(END, 2)[1]
  if (before === undefined || after === undefined) throw new Error(`docs/clients.md has no ${BEGIN} with ${END}`)
  return `${before}${BEGIN}\n\n${passedOver(routes)}\n\n${refused(routes)}\n\n${refusedValues()}\n\n${END}${after}`
}

function passedOver(routes: readonly Route[]): string {
  const lines = routes.flatMap(({ operationId, ignores }) =>
    [...Object.entries(ignores?.query ?? {}), ...Object.entries(ignores?.body ?? {})].map(
      ([name, why]) => `- \`${operationId}\`: \`${name}\`: ${why}.`,
    ),
  )
  return ['Ignored:', '', ...lines].join('\n')
}

function refused(routes: readonly Route[]): string {
  const lines = routes.flatMap(({ operationId, body }) =>
    unsupported((body ?? {}) as Schema, '').map(([path, why]) => `- \`${operationId}\`: \`${path}\`: ${why}.`),
  )
  return ['Refused with 400 unless empty or default:', '', ...lines].join('\n')
}

type Schema = { 'x-unsupported'?: string; properties?: Record<string, Schema>; items?: Schema }

/** The fields below `at` that are refused, by their path, each with its reason. */
function unsupported(schema: Schema, at: string): (readonly [string, string])[] {
  const why = schema['x-unsupported']
  if (why !== undefined) return [[at, why]]
  const inner = Object.entries(schema.properties ?? schema.items?.properties ?? {})
  return inner.flatMap(([name, one]) => unsupported(one, at === '' ? name : `${at}.${name}`))
}

function refusedValues(): string {
  const lines = Object.entries(REFUSED_VALUES).map(
    ([field, { values, why }]) => `- \`${field}\`: ${values.map((value) => `\`${value}\``).join(', ')}: ${why}.`,
  )
  return ['Values refused with 400:', '', ...lines].join('\n')
}
