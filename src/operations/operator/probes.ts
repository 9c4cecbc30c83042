/** Health checks and metrics. docs/operations.md. */

import { timingSafeEqual } from 'node:crypto'
import { sql } from 'kysely'
import type { Deps } from '../../context.ts'
import { isOperator } from '../../platform/access/authenticate.ts'
import { fingerprint } from '../../platform/base/ids.ts'
import { MIGRATIONS } from '../../platform/db/migrations.ts'
import { withTimeLimit } from '../../platform/fairness/time-limit.ts'
import { countFailure, type Peer, peerAddress } from '../../platform/http/failure-limits.ts'
import type { Probe } from '../../platform/http/public-page.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { activeKeyId } from '../../platform/secrets/root-keys.ts'

const MAX_MS = 1000
/** More frequent requests get the cached result. */
const RETENTION_MS = 500

type Check = 'store' | 'migrations' | 'keys'

/** Creates the routes `/healthz`, `/readyz` and `/metrics`. docs/operations.md: Health, Metrics. */
export function createProbes(deps: Deps): Probe[] {
  const failing = openChecks(deps)
  return [
    { path: '/healthz', contentType: 'application/json', answer: () => ({ status: 200, body: '{"alive":true}\n' }) },
    {
      path: '/readyz',
      contentType: 'application/json',
      async answer() {
        // Known without a query, and valid at once.
        const faults = deps.shutdownSignal.aborted ? ['stopping'] : await failing()
        const ready = faults.length === 0
        return { status: ready ? 200 : 503, body: `${JSON.stringify({ ready, failing: faults })}\n` }
      },
    },
    {
      path: '/metrics',
      contentType: 'text/plain; version=0.0.4; charset=utf-8',
      async answer(authorization, peer) {
        await admitScraper(deps, authorization, peer)
        return { status: 200, body: await deps.metrics.render() }
      },
    },
  ]
}

/** Accepts BERTH_METRICS_TOKEN, which grants nothing else, or the operator token. Refuses: metrics_only 401, rate_limited 429. */
async function admitScraper(deps: Deps, authorization: string | undefined, peer: Peer): Promise<void> {
  const hash = (text: string) => Buffer.from(fingerprint(text))
  const { metricsToken } = deps.config
  const expected = `Bearer ${metricsToken}`
  if (metricsToken !== undefined && timingSafeEqual(hash(authorization ?? ''), hash(expected))) return
  if (isOperator(authorization, deps.operatorTokenHash)) return
  await countFailure(deps, 'token-failures', peerAddress(peer))
  refuse('metrics_only')
}

/** Queries the database at most once at a time and twice a second, regardless of the number of requests. */
function openChecks(deps: Deps): () => Promise<Check[]> {
  let asking: Promise<Check[]> | undefined
  let last: { at: number; failing: Check[] } | undefined
  return async () => {
    if (last !== undefined && performance.now() - last.at < RETENTION_MS) return last.failing
    asking ??= findFailing(deps).finally(() => {
      asking = undefined
    })
    // A timeout counts as unavailable.
    const failing = await withTimeLimit<Check[], Check[]>(asking, MAX_MS, ['store'])
    last = { at: performance.now(), failing }
    return failing
  }
}

async function findFailing({ db, keyring }: Deps): Promise<Check[]> {
  try {
    const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db.read)
    const applied = new Set(rows.map(({ name }) => name))
    // A newer instance may have applied more migrations. If all of this one's exist, it continues until it is replaced.
    const failing: Check[] = Object.keys(MIGRATIONS).every((name) => applied.has(name)) ? [] : ['migrations']
    if (!hasKey(keyring, await activeKeyId(db.read))) failing.push('keys')
    return failing
  } catch {
    return ['store']
  }
}

/** A key made by another instance has to reach this one's keyring. */
function hasKey(keyring: Deps['keyring'], id: string): boolean {
  try {
    return keyring.find(id) !== undefined
  } catch {
    return false
  }
}
