/** What `berth doctor` asks of the database server: each thing that Berth needs, by doing it. */
import type { Config } from '../../config.ts'
import type { Finding } from './finding.ts'

/** The oldest one that Berth is tested with. */
const OLDEST = 15

/** Nothing for the embedded store. */
export async function checkServer({ database, pool }: Config): Promise<Finding[]> {
  if (database.engine === 'sqlite') return []
  const about = 'database server'
  const { probeServer } = await import('../../platform/db/postgres/capabilities.ts')
  try {
    const { version, major, lacks } = await probeServer(database.url, pool.patience)
    const findings = lacks.map(
      ({ need, why, fatal }): Finding => ({
        about,
        is: fatal ? 'wrong' : 'worry',
        found: `${version} lacks ${need}: ${why}`,
        advice: fatal
          ? 'do not run Berth over it (docs/scaling.md, Over a distributed engine)'
          : 'the edge asks every 2 s instead; pgbouncer in transaction mode is a usual cause (docs/scaling.md)',
      }),
    )
    if (major < OLDEST) {
      const advice = `Berth is tested with PostgreSQL ${OLDEST} and later: upgrade the server`
      findings.push({ about, is: 'worry', found: `${version} is old`, advice })
    }
    return findings.length > 0 ? findings : [{ about, is: 'well', found: `${version} does all that Berth needs` }]
  } catch (error) {
    const advice = 'check DATABASE_URL, that it leads to the server that writes, and that this user may make tables'
    return [{ about, is: 'wrong', found: `cannot be asked: ${(error as Error).message}`, advice }]
  }
}
