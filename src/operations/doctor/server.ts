/** Checks of the database server in `berth doctor`, each by using the required capability. */
import type { Config } from '../../config.ts'
import { type Finding, findingsAbout } from './finding.ts'

/** The oldest version that Berth is tested with. */
const OLDEST = 15

/** Checks the PostgreSQL server. Empty for SQLite. */
export async function checkServer({ database, pool }: Config): Promise<Finding[]> {
  if (database.engine === 'sqlite') return []
  const { well, worry, wrong } = findingsAbout('database server')
  const { probeServer } = await import('../../platform/db/postgres/capabilities.ts')
  try {
    const { version, major, lacks } = await probeServer(database.url, pool.patience)
    const findings = lacks.map(({ need, why, fatal }) => {
      const found = `${version} does not support ${need}: ${why}`
      return fatal
        ? wrong(found, 'do not run Berth over it (docs/scaling.md, Distributed SQL)')
        : worry(
            found,
            'the edge polls every 2 s instead; pgbouncer in transaction mode is a usual cause (docs/scaling.md)',
          )
    })
    if (major < OLDEST) {
      const advice = `Berth is tested with PostgreSQL ${OLDEST} and later: upgrade the server`
      findings.push(worry(`${version} is old`, advice))
    }
    return findings.length > 0 ? findings : [well(`${version} has everything that Berth needs`)]
  } catch (error) {
    const advice = 'check that DATABASE_URL points to the primary server and that this user can create tables'
    return [wrong(`cannot be queried: ${(error as Error).message}`, advice)]
  }
}
