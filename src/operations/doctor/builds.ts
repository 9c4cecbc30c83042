/** Builds in `berth doctor`: whether something builds, and why not. docs/runner.md. */
import type { Config } from '../../config.ts'
import { type BuildFigures, readBuildFigures } from '../../delivery/builds/figures.ts'
import { pluralize } from '../../platform/base/text.ts'
import { hasTable } from '../../platform/db/tables.ts'
import { localNames } from '../../platform/tls/local-certificate.ts'
import { type Finding, findingsAbout } from './finding.ts'
import { withStore } from './store.ts'

const { well, worry, wrong } = findingsAbout('builds')
const START = 'start berth runner with the BERTH_RUNNER_TOKEN of this Berth: docs/runner.md, Set up a runner'
const NONE: BuildFigures = { waiting: 0, oldest: null, running: 0, runners: { active: 0, draining: 0 } }

/** Checks that runners ask for builds. */
export async function checkBuilds(config: Config): Promise<Finding[]> {
  const { mode } = config.runner
  if (mode === 'off') return [well('off by BERTH_BUILDS: sources are refused, and vercel deploy --prebuilt works')]
  const figures = await readFigures(config)
  // In the running service the mode is decided, and BERTH_BUILDS may not be set.
  if (mode === undefined && config.builds.mode === 'off' && !startsRunner(config)) return unset(figures)
  const waits = `${pluralize(figures.waiting, 'build')} ${figures.waiting === 1 ? 'waits' : 'wait'}`
  const { active, draining } = figures.runners
  if (active > 0) return [well(`${pluralize(active, 'runner')} asked for one within two minutes; ${waits}`)]
  const delayed = figures.waiting > 0 ? wrong : worry
  if (draining > 0) {
    const advice = 'berth runner resume <id>, or start another runner; berth runner list shows them'
    return [delayed(`every runner is drained (${draining}); ${waits}`, advice)]
  }
  if (startsRunner(config)) return [well('berth serve starts a runner')]
  return settingMissing(config) ?? [delayed(`no runner asked for one within two minutes; ${waits}`, START)]
}

/** Runners may ask all the while: it is the create of a deployment that refuses a source. */
function unset({ runners: { active, draining } }: BuildFigures): Finding[] {
  if (active + draining === 0)
    return [well('off: BERTH_BUILDS is not set, so sources are refused, and vercel deploy --prebuilt works')]
  const found = `BERTH_BUILDS is not set, so sources are refused, although ${pluralize(active + draining, 'runner')} asked for builds`
  return [wrong(found, 'set BERTH_BUILDS here as for the runners: docs/runner.md, Set up a runner')]
}

/** As before the first start, where the database lacks the tables or cannot be read: another check reports that. */
async function readFigures(config: Config): Promise<BuildFigures> {
  const read = withStore(config, async (db) =>
    (await hasTable(db, 'runner')) ? readBuildFigures(db, Date.now()) : NONE,
  )
  return read.catch(() => NONE)
}

/** Whether `berth serve` starts a runner of its own: processes/runner-process.ts. */
export function startsRunner(config: Config): boolean {
  return config.edge.port !== undefined && config.builds.runnerToken === undefined && localNames(config) !== undefined
}

/** What keeps every runner away; undefined where runners may come. */
function settingMissing({ builds, edge }: Config): Finding[] | undefined {
  if (builds.runnerToken === undefined)
    return [wrong('BERTH_RUNNER_TOKEN is not set, so runners are refused', 'set it here and for each berth runner')]
  if (edge.port === undefined)
    return [wrong('BERTH_EDGE_PORT is off, and runners ask there', 'set BERTH_EDGE_PORT to a port: docs/runner.md')]
  return undefined
}
