/** Who made a variable, for people: the name and the logo of its integration. Specification: Scopes ("show the integration's logo"). */

import { slices } from '../db/chunks.ts'
import type { Queries } from '../db/db.ts'
import type { EnvVar } from './schema.ts'

/**
 * Puts `integration` (name, slug, and `icon`, the URL of the logo or empty) beside each variable that an installation made, in
 * place. One query for each 500 installations, and none where people made all of them.
 */
export async function addLogos(db: Queries, variables: readonly EnvVar[]): Promise<void> {
  const made = variables.filter((variable) => variable.configurationId !== null)
  for (const slice of slices([...new Set(made.map((variable) => variable.configurationId!))])) {
    const rows = await db
      .selectFrom('configuration')
      .innerJoin('integration', 'integration.id', 'configuration.integration_id')
      .select(['configuration.id', 'integration.name', 'integration.slug', 'integration.logo_url'])
      .where('configuration.id', 'in', slice)
      .execute()
    const byId = new Map(rows.map(({ id, name, slug, logo_url }) => [id, { name, slug, icon: logo_url ?? '' }]))
    for (const variable of made) {
      const integration = byId.get(variable.configurationId!)
      if (integration !== undefined) variable.integration = integration
    }
  }
}
