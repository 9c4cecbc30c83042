/** A site of functions that run as plain processes, by the Node.js of the tests. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { FunctionOptions } from '../../../src/sites/functions/runtime.ts'
import { type Offered, SITE } from '../visitors/control-plane.ts'
import { showSite } from '../visitors/servers.ts'

/** The content of a function below `functions/`. `module`: its source. */
export function functionOf(name: string, module: string, config: object = {}): Record<string, string> {
  const settings = {
    ...{ runtime: 'nodejs22.x', handler: 'index.mjs', launcherType: 'Nodejs', shouldAddHelpers: true },
    ...config,
  }
  return {
    [`functions/${name}.func/.vc-config.json`]: JSON.stringify(settings),
    [`functions/${name}.func/${settings.handler}`]: module,
  }
}

/** A busy machine starts nothing in time. */
const PATIENT = { startMs: 240_000, waitMs: 240_000 }

/** Shows a site with these contents. Its functions end with the test. */
export async function showFunctions(
  t: TestContext,
  contents: Record<string, string | Uint8Array>,
  {
    limits,
    env = {},
    config = {},
    own = {},
    offered = {},
  }: {
    limits?: FunctionOptions['limits']
    env?: Record<string, string>
    config?: object
    own?: Partial<FunctionOptions>
    offered?: Offered
  } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-fn-'))
  const options: FunctionOptions = {
    ...{ kind: 'trusted', folder, runAs: undefined, network: 'internet', processes: 8 },
    node: async () => ({ folder: undefined, program: process.execPath }),
    limits: { ...PATIENT, ...limits },
    ...own,
  }
  const shown = await showSite(t, { config, contents, env, ...offered }, {}, undefined, options)
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const visit = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    shown.visit(SITE, path, headers, method)
  return { ...shown, folder, visit, origin: shown.site.origin }
}
