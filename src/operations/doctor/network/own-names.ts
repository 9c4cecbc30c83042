/** Project domains that equal names of Berth. New ones cannot be added, but settings may have changed, or an earlier version may have allowed one. */
import type { Config } from '../../../config.ts'
import { hasTable } from '../../../platform/db/tables.ts'
import { type Finding, findingsAbout } from '../finding.ts'
import { withStore } from '../store.ts'

const MOST = 20

/** Lists up to 20 project domains at which Berth itself is reached. */
export async function checkOwnNames(config: Config): Promise<Finding[]> {
  const { well, wrong } = findingsAbout('own names')
  const own = [...new Set(config.domains.ownNames)]
  if (own.length === 0) return []
  // The database check reports this error.
  const rows = await readHolders(config, own.flatMap(coveredBy)).catch(() => [])
  if (rows.length === 0) return [well(`no project has ${own.join(' or ')} as its domain`)]
  return rows.map(({ name, project, slug }) =>
    wrong(
      `${name} is a verified domain of the project ${project} of ${slug}, and also a name of Berth itself`,
      `remove it as ${slug} (DELETE /v9/projects/${project}/domains/${name}), or use another name for Berth`,
    ),
  )
}

/** The domains that serve a name: itself, and the wildcards of its parents. */
function coveredBy(name: string): string[] {
  const labels = name.split('.')
  return [name, ...labels.slice(1).map((_, at) => `*.${labels.slice(at + 1).join('.')}`)]
}

function readHolders(config: Config, names: string[]) {
  return withStore(config, async (db) => {
    if (!(await hasTable(db, 'project_domain'))) return []
    return db
      .selectFrom('project_domain')
      .innerJoin('project', 'project.id', 'project_domain.project_id')
      .innerJoin('account', 'account.id', 'project_domain.account_id')
      .select(['project_domain.name', 'project.name as project', 'account.slug'])
      .where('project_domain.name', 'in', names)
      .where('project_domain.verified_at', 'is not', null)
      .orderBy('project_domain.name')
      .limit(MOST)
      .execute()
  })
}
